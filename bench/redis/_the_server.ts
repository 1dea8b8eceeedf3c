/** The one server that all contenders share, started when it is first needed, and ended with the process. */
import process from "node:process";
import { Server } from "../../tests/redis/_server.ts";

let started: Promise<Server> | undefined;

export function theServer(): Promise<Server> {
  started ??= Server.start().then((server) => {
    process.on("exit", () => server.end());
    return server;
  });
  return started;
}
