/** Rolling restarts behind real proxies. */
import { startServer } from "../round.ts";
import { failuresOf, type Part, SERVERS, sum, Table } from "../table_row.ts";
import type { ProxyName } from "./proxies.ts";
import { rolling } from "./rolling.ts";

/** Loaded with every kind of server. */
const RECOMMENDED: [name: string, proxy: ProxyName][] = [
  ["nginx with max_fails=0", "nginx max_fails"],
  ["nginx with keepalive", "nginx keepalive"],
  ["HAProxy with retry-on", "haproxy retry-on"],
];

/** Loaded with node:http on the newest Node. */
const FURTHER: [name: string, proxy: ProxyName][] = [["nginx", "nginx"], ["HAProxy", "haproxy"]];

const rows = (proxies: [name: string, proxy: ProxyName][], servers: typeof SERVERS) =>
  proxies.flatMap(([name, proxy]) =>
    servers.map(([server, runtime, kind]) => ({ name: `${name}, ${server}`, proxy, runtime, kind }))
  );

const ROWS = [...rows(RECOMMENDED, SERVERS), ...rows(FURTHER, SERVERS.filter(([, runtime]) => runtime === "node"))];

/**
 * Promise: no GET fails, and no POST is answered 503. HAProxy without retry-on passes a connection that was closed unread on
 * to its client, as a reset.
 */
export const proxies: Part = async (options) => {
  const table = new Table();
  for (const { name, proxy, runtime, kind } of ROWS.filter(({ name }) => options.wanted(name))) {
    const startOn = (port: number) => startServer(runtime, kind, ["--port", String(port)]);
    const { answered, failures, unread, exit } = await rolling(proxy, startOn, options);
    const posts = Object.keys(failures).every((what) => what.startsWith("POST") && what !== "POST 503");
    table.add({
      "proxy": name,
      "restarts": options.rounds,
      "requests answered": answered,
      "client-visible failures": failuresOf(failures),
      "longest exit ms": Math.round(exit),
    }, posts || (proxy === "haproxy" && sum(failures) === unread));
  }
  return table;
};
