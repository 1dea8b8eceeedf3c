/** Ways to end a node:http server: ours, those of packages, and `server.close()` alone. */
import { type Server, signal, type Started, startLoad, startServer } from "../round.ts";

/** In the order of the table. */
export const CONTENDERS = [
  "interlock",
  "http-graceful-shutdown",
  "http-terminator",
  "@godaddy/terminus",
  "stoppable",
  "lightship",
  "server.close",
] as const;

export type Contender = (typeof CONTENDERS)[number];

/** The time in ms after which an orchestrator sends SIGKILL. */
const KILL_AFTER = 30_000;

/** Starts the service with this way to end it. */
export function startContender(name: Contender, port = 0): Promise<Server> {
  const args = ["--port", String(port)];
  if (name === "interlock") return startServer("node", "node", args);
  return startServer("node", name, args, "tests/shutdown/proxy/peer_server.ts");
}

/** Sends SIGTERM and, as an orchestrator does, SIGKILL later; resolves to the ms until the end. */
export async function end(server: Started): Promise<number> {
  const begun = performance.now();
  signal(server, "SIGTERM");
  const timer = setTimeout(() => signal(server, "SIGKILL"), KILL_AFTER);
  await server.ended;
  clearTimeout(timer);
  return performance.now() - begun;
}

/** The outcome of ending a server that clients talk to directly. */
export interface DirectOutcome {
  accepted: number;
  /** Accepted, and not answered whole. */
  lost: number;
  /** Connections closed before a byte of answer. */
  resets: number;
  refused: number;
  exit: number;
}

/** Ends a contender under load, without a proxy. */
export async function endDirectly(name: Contender, seed: number, connections: number): Promise<DirectOutcome> {
  const server = await startContender(name);
  const load = await startLoad({ port: server.port, seed, connections });
  await new Promise((resolve) => setTimeout(resolve, 300));
  const exit = await end(server);
  const { whole, failures } = await load.tally();
  const [{ accepted }, answered] = [server.report(), new Set(whole)];
  const count = (pattern: RegExp) =>
    Object.entries(failures).reduce((sum, [what, times]) => pattern.test(what) ? sum + times : sum, 0);
  const lost = accepted.filter((id) => !answered.has(id)).length;
  return { accepted: accepted.length, lost, resets: count(/ECONNRESET|EPIPE/), refused: count(/503/), exit };
}
