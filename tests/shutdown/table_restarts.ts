/** A server that is ended and started again on its port, while the same clients keep sending. */
import type { Routes } from "./jobs.ts";
import { freePort } from "../_ports.ts";
import { end, type ServerReport, startLoad, startServer } from "./round.ts";
import type { ProgramName } from "./runtimes.ts";
import { Random } from "../_random.ts";
import { type Part, SERVERS, Table, type TableOptions } from "./table_row.ts";

/**
 * Requests on reused connections that are not answered, in a restart. Deno.serve and Bun.serve close idle connections at
 * once, which was measured to hit 4 to 6 of 100. A server of node:http2 ignores streams that cross its GOAWAY; that frame tells the client to send them again.
 */
const reusedBy = (connections: number) => ({ fetch: connections / 10, node: 0, http2: connections });

interface RestartOutcome {
  answered: number;
  /** Handled by a server, and not answered whole. */
  lost: string[];
  /** Resets of connections on their first request, and on a later one. */
  fresh: number;
  reused: number;
  refused: number;
  exits: number[];
  reports: ServerReport[];
}

/** Ends and starts a server so many times, under one load. */
export async function restart(
  runtime: ProgramName,
  kind: "fetch" | "node" | "http2",
  routes: Routes,
  { rounds, seed, connections }: Omit<TableOptions, "wanted">,
): Promise<RestartOutcome> {
  const port = await freePort();
  const startAgain = () => startServer(runtime, kind, ["--port", String(port)]);
  const random = new Random(seed);
  const reports: ServerReport[] = [];
  const exits: number[] = [];
  let server = await startAgain();
  // Deno.serve, Bun.serve and node:http on Bun close connections on which a part of a head has come.
  const split = kind === "node" && runtime !== "bun";
  const load = await startLoad({ port, seed, connections, routes, keepUp: true, http2: kind === "http2", split });
  for (let i = 0; i < rounds; i++) {
    await new Promise((resolve) => setTimeout(resolve, 200 + random.below(300)));
    exits.push(await end(server));
    reports.push(server.report());
    if (i + 1 < rounds) server = await startAgain();
  }
  const { whole, wrong, closedNew, closedKept, noConnection } = await load.tally();
  const known = new Set(whole);
  const lost = reports.flatMap(({ accepted }) => accepted).filter((id) => !known.has(id)).map((id) =>
    `${id} ${wrong[id] ?? "no answer"}`
  );
  const odd = Object.entries(wrong).map(([id, what]) => `${id} ${what}`);
  return {
    answered: whole.length,
    lost: [...new Set([...lost, ...odd])],
    fresh: closedNew,
    reused: closedKept,
    refused: noConnection,
    exits,
    reports,
  };
}

const HTTP2: [name: string, runtime: ProgramName][] = [
  ["node:http2 on Node 20", "node20"],
  ["node:http2 on the newest Node", "node"],
  ["node:http2 on Deno", "deno"],
  ["node:http2 on Bun", "bun"],
];

const LOADS: [suffix: string, routes: Routes][] = [["", "restart"], [", a connection for each request", "quick"]];

const ROWS = [
  ...LOADS.flatMap(([suffix, routes]) =>
    SERVERS.map(([name, runtime, kind]) => ({ name: name + suffix, runtime, kind, routes }))
  ),
  ...HTTP2.map(([name, runtime]) => ({ name, runtime, kind: "http2" as const, routes: "restart" as const })),
];

/** Promise: no fresh connection is reset, and no accepted request lost. */
export const restarts: Part = async (options) => {
  const table = new Table();
  for (const { name, runtime, kind, routes } of ROWS.filter(({ name }) => options.wanted(name))) {
    const { answered, lost, fresh, reused, refused, exits } = await restart(runtime, kind, routes, options);
    const most = reusedBy(options.connections)[kind] * options.rounds;
    const isKept = lost.length === 0 && fresh === 0 && reused <= most;
    table.add({
      "server": name,
      "restarts": options.rounds,
      "answered whole": answered,
      "lost": lost.length,
      "reset, fresh": fresh,
      "reset, reused": reused,
      "refused": refused,
      "longest exit ms": Math.round(Math.max(...exits)),
      "median exit ms": Math.round(exits.toSorted((a, b) => a - b)[exits.length >> 1]!),
    }, isKept);
    for (const one of lost.slice(0, 5)) console.log(`lost: ${one}`);
  }
  return table;
};
