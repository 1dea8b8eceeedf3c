/** Rolling restarts behind real proxies in their default configuration. */
import { failuresOf, type Part, sum, Table } from "../table_row.ts";
import { startContender } from "./contenders.ts";
import { rolling } from "./rolling.ts";

/**
 * Promise: no GET fails, and no POST is answered 503. HAProxy without retry-on passes a connection that was closed unread on
 * to its client, as a reset.
 */
export const proxies: Part = async (options) => {
  const table = new Table();
  for (const proxy of ["nginx", "nginx keepalive", "haproxy", "haproxy retry-on"] as const) {
    const { answered, failures, unread, exit } = await rolling(
      proxy,
      (port) => startContender("interlock", port),
      options,
    );
    const posts = Object.keys(failures).every((what) => what.startsWith("POST") && what !== "POST 503");
    const kept = posts || (proxy === "haproxy" && sum(failures) === unread);
    table.add({
      "proxy": proxy,
      "restarts": options.rounds,
      "requests answered": answered,
      "client-visible failures": failuresOf(failures),
      "longest exit ms": Math.round(exit),
    }, kept);
  }
  return table.broken;
};
