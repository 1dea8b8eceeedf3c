/** Rolling restarts behind real proxies in their default configuration. */
import { startServer } from "../round.ts";
import type { ProgramName } from "../runtimes.ts";
import { failuresOf, type Part, sum, Table } from "../table_row.ts";
import { isInstalled, type ProxyName } from "./proxies.ts";
import { rolling } from "./rolling.ts";

const ROWS: [name: string, proxy: ProxyName, runtime: ProgramName, kind: "fetch" | "node"][] = [
  ["nginx, node:http on the newest Node", "nginx", "node", "node"],
  ["nginx, node:http on Node 20", "nginx", "node20", "node"],
  ["nginx, Deno.serve", "nginx", "deno", "fetch"],
  ["nginx, Bun.serve", "nginx", "bun", "fetch"],
  ["nginx with keepalive, node:http", "nginx keepalive", "node", "node"],
  ["HAProxy, node:http", "haproxy", "node", "node"],
  ["HAProxy with retry-on, node:http", "haproxy retry-on", "node", "node"],
  ["Caddy with lb_try_duration, node:http", "caddy", "node", "node"],
  ["Apache, node:http", "apache2", "node", "node"],
  ["Varnish with retry, node:http", "varnish", "node", "node"],
  ["lighttpd, node:http", "lighttpd", "node", "node"],
  ["Squid, node:http", "squid", "node", "node"],
];

/** The others are loaded if they are installed, and promise nothing: what each cannot hide is in docs/shutdown.md. */
const PROMISING: readonly ProxyName[] = ["nginx", "nginx keepalive", "haproxy", "haproxy retry-on"];

/**
 * Promise: no GET fails, and no POST is answered 503. HAProxy without retry-on passes a connection that was closed unread on
 * to its client, as a reset.
 */
export const proxies: Part = async (options) => {
  const table = new Table();
  for (const [name, proxy, runtime, kind] of ROWS.filter(([name]) => options.wanted(name))) {
    const promises = PROMISING.includes(proxy);
    if (!promises && !isInstalled(proxy)) continue;
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
    }, promises ? kept : "none");
  }
  return table;
};
