/** Rolling restarts behind real proxies in their default configuration. */
import { failuresOf, type Part, Table } from "../table_row.ts";
import { startContender } from "./contenders.ts";
import { rolling } from "./rolling.ts";

/** Promise: no GET fails, and no POST is answered 503. */
export const proxies: Part = async (options) => {
  const table = new Table();
  for (const proxy of ["nginx", "nginx keepalive", "haproxy"] as const) {
    const { answered, failures, exit } = await rolling(proxy, (port) => startContender("interlock", port), options);
    const kept = Object.keys(failures).every((what) => what.startsWith("POST") && what !== "POST 503");
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
