/** Rolling restarts behind real proxies in their default configuration. */
import { startServer } from "../round.ts";
import type { ProgramName } from "../runtimes.ts";
import { failuresOf, type Part, sum, Table } from "../table_row.ts";
import type { ProxyName } from "./proxies.ts";
import { rolling } from "./rolling.ts";

const ROWS: [name: string, proxy: ProxyName, runtime: ProgramName, kind: "fetch" | "node"][] = [
  ["nginx, node:http on the newest Node", "nginx", "node", "node"],
  ["nginx, node:http on Node 20", "nginx", "node20", "node"],
  ["nginx, Deno.serve", "nginx", "deno", "fetch"],
  ["nginx, Bun.serve", "nginx", "bun", "fetch"],
  ["nginx with keepalive, node:http", "nginx keepalive", "node", "node"],
  ["HAProxy, node:http", "haproxy", "node", "node"],
  ["HAProxy with retry-on, node:http", "haproxy retry-on", "node", "node"],
];

/**
 * Promise: no GET fails, and no POST is answered 503. HAProxy without retry-on passes a connection that was closed unread on
 * to its client, as a reset.
 */
export const proxies: Part = async (options) => {
  const table = new Table();
  for (const [name, proxy, runtime, kind] of ROWS.filter(([name]) => options.wanted(name))) {
    const startOn = (port: number) => startServer(runtime, kind, ["--port", String(port)]);
    const { answered, failures, unread, exit } = await rolling(proxy, startOn, options);
    const posts = Object.keys(failures).every((what) => what.startsWith("POST") && what !== "POST 503");
    const kept = posts || (proxy === "haproxy" && sum(failures) === unread);
    table.add({
      "proxy": name,
      "restarts": options.rounds,
      "requests answered": answered,
      "client-visible failures": failuresOf(failures),
      "longest exit ms": Math.round(exit),
    }, kept);
  }
  return table.broken;
};
