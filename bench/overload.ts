/**
 * Draws docs/benchmarks/overload-*.svg from examples/busy_server.ts: each of its servers gets requests at a pace that it
 * cannot keep up with, one server after the other. `deno run -A bench/overload.ts [SECONDS]`
 */
import { writeFileSync } from "node:fs";
import process from "node:process";
import { type Answer, bounded, growing, load } from "../examples/busy_server.ts";
import { colors, frame, svg, type Theme, THEMES } from "./_chart.ts";

const PER_SECOND = 300;
const SECONDS = Number(process.argv[2] ?? 10);
/** Seconds of the load that make one point. */
const STEP = 0.5;

const servers = {
  "at most 30 wait": await load(bounded(), PER_SECOND, SECONDS * 1000),
  "the queue grows": await load(growing(), PER_SECOND, SECONDS * 1000),
};

const isServed = ({ status }: Answer) => status === 200;

function p99(answers: readonly Answer[]): number | undefined {
  return answers.map(({ took }) => took).sort((a, b) => a - b)[Math.ceil(answers.length * 0.99) - 1];
}

const values = Object.entries(servers).flatMap(([contender, answers]) =>
  Array.from({ length: SECONDS / STEP }, (_, i) => {
    const second = i * STEP;
    const sent = answers.filter(({ at }) => at >= second * 1000 && at < (second + STEP) * 1000);
    return { contender, second: second + STEP, ms: p99(sent.filter(isServed)) };
  })
);

const folder = new URL("../docs/benchmarks/", import.meta.url);
for (const theme of Object.keys(THEMES) as Theme[]) {
  const picture = await svg({
    ...frame(theme, `${PER_SECOND} requests a second, room for 200: p99 of the answers (less is better)`),
    data: { values },
    mark: { type: "line", point: { size: 45 }, strokeWidth: 2.5 },
    encoding: {
      x: { field: "second", type: "quantitative", axis: { title: "seconds since the load began" } },
      y: {
        field: "ms",
        type: "quantitative",
        scale: { type: "log", domainMin: 10 },
        axis: { title: "ms (logarithmic scale)", format: ",", values: [10, 100, 1000, 10_000] },
      },
      color: colors(values, theme),
    },
  });
  writeFileSync(new URL(`overload-${theme}.svg`, folder), picture);
}

for (const [name, answers] of Object.entries(servers)) {
  const [served, refused] = [answers.filter(isServed), answers.filter((answer) => !isServed(answer))];
  console.log(
    `${name}: ${served.length} of ${answers.length} served, p99 ${p99(served)?.toFixed()} ms;`,
    `refused: ${refused.length}, p99 ${p99(refused)?.toFixed()} ms`,
  );
}
