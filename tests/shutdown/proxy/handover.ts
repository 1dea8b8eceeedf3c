/** Without a proxy, one process takes over from another: in a cluster, and by `reusePort`. */
import process from "node:process";
import { until } from "../../_tools.ts";
import { freePort } from "../../_ports.ts";
import { end, type Load, start, startLoad, startServer } from "../round.ts";
import type { Routes } from "../jobs.ts";
import type { ProgramName } from "../runtimes.ts";
import type { RollingOutcome } from "./rolling.ts";

/** How many times a process is replaced, and under which load. */
export interface HandoverOptions {
  rounds: number;
  connections: number;
  seed: number;
  routes?: Routes;
}

/** Ends one worker of a node:cluster after the other by SIGTERM; the primary replaces it. */
export async function replaceWorkers(
  { rounds, connections, seed, routes = "service" }: HandoverOptions,
): Promise<RollingOutcome> {
  const port = await freePort();
  const primary = await start("node", "tests/shutdown/proxy/cluster_server.ts", ["--port", String(port)]);
  const workers = () => [...primary.output.text.matchAll(/worker (\d+) listens/g)].map(([, pid]) => Number(pid));
  await until(() => workers().length === 2);
  const load = await startLoad({ port, seed, connections, routes, keepUp: true });
  const exits: number[] = [];
  for (let i = 0; i < rounds; i++) {
    const begun = performance.now();
    process.kill(workers()[i]!, "SIGTERM"); // the oldest
    await until(() => !lives(workers()[i]!));
    exits.push(performance.now() - begun);
    await until(() => workers().length === i + 3);
  }
  return await outcome(load, exits, () => end(primary));
}

/** Starts a successor on the same port by `reusePort`, then ends the predecessor. */
export async function replaceByReusePort(
  runtime: ProgramName,
  { rounds, connections, seed, routes = "service" }: HandoverOptions,
): Promise<RollingOutcome> {
  const args = ["--port", String(await freePort()), "--reuse-port"];
  let server = await startServer(runtime, "fetch", args);
  const load = await startLoad({ port: server.port, seed, connections, routes, keepUp: true });
  const exits: number[] = [];
  for (let i = 0; i < rounds; i++) {
    const successor = await startServer(runtime, "fetch", args);
    exits.push(await end(server));
    server.report();
    server = successor;
  }
  return await outcome(load, exits, () => end(server));
}

async function outcome(load: Load, exits: number[], stop: () => Promise<unknown>): Promise<RollingOutcome> {
  const { whole, failures, closedKept, closedNew } = await load.tally();
  await stop();
  return { answered: whole.length, failures, unread: closedKept + closedNew, exit: Math.max(...exits) };
}

function lives(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
