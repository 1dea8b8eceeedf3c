/** The same load on servers that are ended by other packages: directly, and behind nginx. */
import { failuresOf, type Part, Table } from "../table_row.ts";
import { CONTENDERS, endDirectly, startContender } from "./contenders.ts";
import { rolling } from "./rolling.ts";

/** Of the rounds: each restart behind nginx has to wait until nginx uses the server again, and some take 10 s to exit. */
const BEHIND_NGINX = 1 / 2;

/** Promise: of ours only, that no accepted request is lost. The others are there for comparison. */
export const peers: Part = async (options) => {
  const table = new Table();
  const rounds = Math.ceil(options.rounds * BEHIND_NGINX);
  for (const name of CONTENDERS.filter(options.wanted)) {
    const total = { accepted: 0, lost: 0, resets: 0, refused: 0, exit: 0 };
    for (let i = 0; i < options.rounds; i++) {
      const outcome = await endDirectly(name, options.seed + i, options.connections);
      for (const key of ["accepted", "lost", "resets", "refused"] as const) total[key] += outcome[key];
      total.exit = Math.max(total.exit, outcome.exit);
    }
    const { failures } = await rolling("nginx", (port) => startContender(name, port), { ...options, rounds });
    table.add({
      "ended by": name,
      "times": options.rounds,
      "accepted": total.accepted,
      "lost": total.lost,
      "resets": total.resets,
      "answered 503": total.refused,
      "longest exit ms": Math.round(total.exit),
      "behind nginx": rounds,
      "failures behind nginx": failuresOf(failures),
    }, name === "interlock" ? total.lost === 0 : "none");
  }
  return table;
};
