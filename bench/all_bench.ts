/** `deno task bench [--filter TEXT]`: every situation as a group of `deno bench`. */
import * as lib from "../mod.ts";
import { situations } from "./situations.ts";

for (const { name: group, ours, peers, floors, unit } of situations) {
  if (unit === "bytes" || unit === "starts") continue; // no matter of time: `deno task bench:all` measures it
  const own = Object.entries(ours).map(([name, make]) => [name, make(lib)] as const);
  const all = [
    ...own,
    ...Object.entries(peers),
    ...Object.entries(floors ?? {}).map(([n, m]) => [`floor: ${n}`, m] as const),
  ];
  for (const [index, [name, make]] of all.entries()) {
    Deno.bench({
      name: `${group}: ${name}`, // --filter looks at this name only
      group,
      baseline: index === 0,
      // async by its look, or it is not awaited
      fn: async (bench) => {
        const round = await make();
        bench.start();
        await round();
        bench.end();
      },
    });
  }
}
