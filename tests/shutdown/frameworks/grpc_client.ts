/**
 * Calls of @grpc/grpc-js, on Node: `grpc_client.ts FOLDER PORT`. Says "begun" when the calls are under way, then how many were
 * answered.
 */
import { createRequire } from "node:module";
import { join } from "node:path";
import process from "node:process";
import { setTimeout as pause } from "node:timers/promises";

interface Client {
  makeUnaryRequest(
    path: string,
    serialize: (value: string) => Uint8Array,
    deserialize: (bytes: Uint8Array) => string,
    value: string,
    callback: (error: { code: number } | null, value?: string) => void,
  ): void;
}

const [folder = "", port] = process.argv.slice(2);
const grpc = createRequire(join(folder, "package.json"))("@grpc/grpc-js") as {
  Client: new (address: string, credentials: unknown, options: object) => Client;
  credentials: { createInsecure(): unknown };
};
const options = { "grpc.initial_reconnect_backoff_ms": 100, "grpc.max_reconnect_backoff_ms": 100 };
const client = new grpc.Client(`127.0.0.1:${port}`, grpc.credentials.createInsecure(), options);

function call(ms: number): Promise<string> {
  return new Promise((resolve) => {
    client.makeUnaryRequest("/example.Waiting/Wait", Buffer.from, String, String(ms), (error, value) => {
      resolve(error === null ? value! : `code ${error.code}`);
    });
  });
}

while (await call(0) !== "waited 0 ms\n") await pause(20);
const calls = Array.from({ length: 100 }, (_, i) => call(200 + i * 5));
await pause(100); // the calls are at the server, and none is answered
console.log("begun");
const answers = await Promise.all(calls);
console.log(`${answers.filter((answer, i) => answer === `waited ${200 + i * 5} ms\n`).length} answered`);
process.exit();
