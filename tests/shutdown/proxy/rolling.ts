/** Rolling restarts behind a proxy under load that is kept up: the failures that clients see. */
import { freePort } from "../../_ports.ts";
import { end, type Started, startLoad } from "../round.ts";
import { programOf, type ProxyName, startProxy } from "./proxies.ts";

/** The outcome of some restarts. */
export interface RollingOutcome {
  answered: number;
  /** Failures by method and status or error code, as load.ts counts them. */
  failures: Record<string, number>;
  /** Those of them that were resets before any byte of answer, of requests that no server has handled. */
  unread: number;
  /** ms that the longest exit took. */
  exit: number;
}

/** Restarts two servers in turn, `rounds` restarts in all; the next one once the proxy trusts both again. */
export async function rolling(
  proxyName: ProxyName,
  startOn: (port: number) => Promise<Started>,
  { rounds, connections, seed }: { rounds: number; connections: number; seed: number },
): Promise<RollingOutcome> {
  programOf(proxyName); // before anything is started
  const ports = [await freePort(), await freePort()];
  const servers = await Promise.all(ports.map(startOn));
  const proxy = await startProxy(proxyName, ports);
  const load = await startLoad({ port: proxy.port, seed, connections, keepUp: true, split: true });
  const exits: number[] = [];
  for (let i = 0; i < rounds; i++) {
    exits.push(await end(servers[i % 2]!));
    servers[i % 2] = await startOn(ports[i % 2]!);
    await new Promise((resolve) => setTimeout(resolve, proxy.recovers + 500));
  }
  const { whole, failures, closedKept, closedNew } = await load.tally();
  await Promise.all(servers.map(end));
  await proxy.stop();
  return { answered: whole.length, failures, unread: closedKept + closedNew, exit: Math.max(...exits) };
}
