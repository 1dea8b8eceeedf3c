/** docs/benchmarks.md, for readers who choose a package: ten rows, the rows that are lost, and sizes. */
import { figure, rowsOf, runTimesOf, type Suite, table } from "./_markdown.ts";
import { type Column, costs } from "./_costs.ts";
import type { Results } from "./_results.ts";
import type { Row } from "./_runner.ts";
import type { Described } from "./_situation.ts";

/** The ten rows: each situation in a reader's words. */
export const CHOSEN: Readonly<Record<string, string>> = {
  "free lock, awaited": "acquire and release a free lock",
  "lock, 100 tasks": "one turn of 100 tasks that share a lock",
  "lock.run, 100 tasks, an async function": "the same by `run`, with an async function",
  "keyed.run, 100 hot keys, 1,000 tasks, an async function": "`run` of a keyed mutex, 100 keys, 1,000 tasks",
  "semaphore of 10, 1,000 tasks": "one turn of 1,000 tasks that share 10 permits",
  "event, 100,000 waiters": "one of 100,000 waiters of an event",
  "pool, 20,000 calls, 10 at a time": "a call through a pool of 10",
  "map into an array, 100,000 items, 10 at a time": "an item of a map, 10 at a time",
  "Redis, one after the other": "acquire and release a free Redis lock",
  "Redis, hand-over with 10 waiters": "a Redis lock from one waiter to the next",
};

const LEFT_OUT = `Features of Interlock that the packages named here leave out:

- **await-lock** hands out nothing: \`acquireAsync\` resolves to undefined, so any caller can release any hold, and a promise
  of undefined is also cheaper for the engine. No signal.
- **es-toolkit**, **async-sema**: no time-out, no signal; any caller can release. \`limitAsync\` limits one function.
- **async-lock**: no signal, no guard; a call of a free key runs at once.
- **fastq** loses AsyncLocalStorage, and has no signal. **p-limit** has no signal for a call that waits.
- **@esfx/async-manualresetevent**: no time-out; cancellation by tokens of its own, not by a signal.
- **p-map** leaves functions running when one fails.
- **redis-semaphore**, **redlock** poll: no order among waiters, and no fencing token.
`;

/** @param shutdown The suite of graceful shutdown, if it was measured. */
export function page(suites: readonly Suite[], sizes: Readonly<Record<string, number>>, shutdown?: Suite): string {
  return [
    HEAD,
    TEN,
    table(["", ...COLUMNS, "slowest, × our time"], suites.flatMap(chosen)),
    LEFT_OUT,
    "## Where others are quicker\n",
    LOST,
    table(["", ...COLUMNS], suites.flatMap(lost)),
    ...shutdown === undefined ? [] : cost(shutdown),
    "## Size\n",
    SIZE,
    table(["import", "kB"], Object.entries(sizes).map(([name, bytes]) => [name, (bytes / 1000).toFixed(1)])),
    "## Charts\n",
    picture("contention", "Nanoseconds a turn of one lock, from 2 to 10,000 tasks; both axes are logarithmic"),
    picture("hand-over", "Milliseconds from one release of a Redis lock to the next entry, on a logarithmic axis"),
    conditions(suites),
  ].join("\n") + "\n";
}

const COLUMNS = ["Deno", "Node", "Bun"];
/** The newest Node; where it was not measured, Node 20. */
const MEASURED_IN = [["deno"], ["node", "node20"], ["bun"]];

const HEAD = `# Benchmarks

<!-- Made by \`deno task bench:report\`. -->

**In short.** A turn of a local lock, semaphore, pool or event costs 0.1 to 1 µs on current run-times, about as much as with
the quickest packages; the lock of async-mutex takes 5 to 30 times as long. A Redis lock passes to the next waiter in 0.1 to
0.4 ms, where packages that poll take 0.9 to 19 ms; a free one takes 1.4 to 2.9 times as long as \`SET NX\`, compare and delete. If you limit
calls to a network, speed does not decide: choose by [the promises](reliability.md) and by size.
`;

const TEN = `## Ten rows

Time of one operation, and how that compares with the quickest other package in the same process. Less is better; less than
a third is no difference on this machine.
`;

const LOST =
  `Every measured row in which a package has less than 0.9 of our figure: how many times less, and both figures.
[All figures](benchmarks/figures.md) has the other rows.
`;

const SIZE =
  `Minified and gzipped, of an import of this name alone; \`deno task size\` measures it. Redis and diagnostics are entries of
their own, and nothing of them is in these.
`;

function picture(name: string, alt: string): string {
  return `<picture>
  <source media="(prefers-color-scheme: dark)" srcset="./benchmarks/${name}-dark.svg">
  <img alt="${alt}" src="./benchmarks/${name}-light.svg">
</picture>
`;
}

/** The rows of a situation for each column, with the name of the run-time where it is not the first choice. */
function columns(suite: Suite, situation: string): { rows: Row[]; note: string }[] {
  return MEASURED_IN.map((names) => {
    for (const name of names) {
      const rows = rowsOf(suite, name).filter((row) => row.situation === situation);
      if (rows.length > 0) return { rows, note: name === names[0] ? "" : " (Node 20)" };
    }
    return { rows: [], note: "" };
  });
}

function compare(ours: number, other: number): string {
  const ratio = other / ours;
  if (ratio > 0.9 && ratio < 1.1) return "as quick as";
  return ratio > 1 ? `${times(ratio)} quicker than` : `${times(1 / ratio)} slower than`;
}

const times = (ratio: number) => `${ratio.toFixed(ratio < 10 ? 1 : 0)} ×`;

const short = (contender: string) => contender.replace(/ (\(.*|by hand|limitAsync)$/, "");

function chosen(suite: Suite): string[][] {
  return suite.situations.filter(({ name }) => name in CHOSEN).map(({ name, unit, ours }) => {
    const all = columns(suite, name);
    const mine = (rows: readonly Row[]) => rows.find(({ contender }) => contender === Object.keys(ours)[0]);
    const peers = (rows: readonly Row[]) =>
      rows.filter(({ kind }) => kind === "peer").sort((a, b) => a.median - b.median);
    const cells = all.map(({ rows, note }) => {
      const [we, next] = [mine(rows), peers(rows)[0]];
      if (we === undefined || next === undefined) return "–";
      return `**${figure(we.median)} ${unit}**${note}, ${compare(we.median, next.median)} ${short(next.contender)}`;
    });
    const slowest = all.map(({ rows }) => [peers(rows).at(-1), mine(rows)] as const).filter(([peer, we]) => peer && we);
    const names = [...new Set(slowest.map(([peer]) => short(peer!.contender)))];
    const ratios = slowest.map(([peer, we]) => peer!.median / we!.median).sort((a, b) => a - b);
    const range = [...new Set([ratios[0]!, ratios.at(-1)!].map(times))].join(" to ").replaceAll(" ×", "");
    return [CHOSEN[name]!, ...cells, `${names.join(", ")}, ${range}`];
  });
}

function lost(suite: Suite): string[][] {
  return suite.situations.flatMap(({ name, unit, ours }) => {
    const cells = columns(suite, name).map(({ rows }) => lostCell(rows, Object.keys(ours)[0]!, unit));
    return cells.some((cell) => cell !== "") ? [[CHOSEN[name] ?? name, ...cells]] : [];
  });
}

function lostCell(rows: readonly Row[], ours: string, unit: string): string {
  const we = rows.find(({ contender }) => contender === ours);
  if (we === undefined) return "";
  return rows.filter(({ kind, median }) => kind === "peer" && median < 0.9 * we.median)
    .map(({ contender, median }) =>
      `${short(contender)} ${times(we.median / median)} (${figure(median)} of ${figure(we.median)} ${unit})`
    ).join(", ");
}

const COST =
  `CPU time of a request to a hello-world server, next to a bare one, with \`attach\` (and \`handler\` around the function of
Deno.serve and Bun.serve); ± is half of the distance between the quartiles of the rounds. The goals are 1.05 on Node, missed by 0.01 to 0.02, and 1.15 on the others. [Cost while serving](shutdown.md#cost-while-serving) names the lines that cost something.
`;

function cost({ sessions }: Suite): string[] {
  const columns = costs(sessions[0]!);
  const names = [...new Set(columns.flatMap(({ rows }) => rows.map(({ contender }) => contender)))];
  const cell = (row?: Row) =>
    row === undefined ? "" : `${row.median.toFixed(2)} ±${(row.median * row.spread / 2).toFixed(2)}`;
  const line = (name: string, find: (column: Column) => Row | undefined) => [
    name,
    ...columns.map((column) => cell(find(column))),
  ];
  return [
    "## Cost of attach\n",
    COST,
    table(["CPU time, × a bare server", ...columns.map(({ title }) => title)], [
      ...names.map((name) =>
        line(versioned(name, sessions[0]!), ({ rows }) => rows.find(({ contender }) => contender === name))
      ),
      line("_floor: two bare servers, whose ± is the noise_", ({ bare }) => bare),
    ]),
    picture("attach", "CPU time of a request next to a bare server, for Interlock and other packages on each run-time"),
    measuredAt(sessions[0]!),
  ];
}

function versioned(name: string, { peers }: Results): string {
  return name === "interlock" ? "**interlock**" : [name, peers[name] ?? []].flat().join(" ");
}

function measuredAt({ date, machine, rounds }: Results): string {
  return `${date}, ${machine}; ${rounds} rounds. \`deno task bench:shutdown\` measures this on your machine.\n`;
}

function conditions(suites: readonly Suite[]): string {
  const { date, machine } = suites[0]!.sessions[0]!;
  const versions = (suite: Suite) =>
    runTimesOf(suite).map((name) => `${name} ${suite.sessions[0]!.runs[name]?.version.replace(/ .*/, "")}`);
  const peers = new Map(suites.flatMap(({ sessions }) => Object.entries(sessions[0]!.peers)));
  return `## Conditions

- ${machine}, a small shared machine; last measured ${date}. The ten rows but for
  the last, pool, Queue, the cost of attach, 50 keys and the rate limit over Redis are of the code of that day, the other rows
  of days before; later changes are not in the figures.
- ${versions(suites[0]!).join(", ")}; ${
    Array.from(peers, ([name, version]) => `${name} ${version.replace(/^v/, "")}`).join(", ")
  }.
- All contenders of a row take turns in one process in random order; medians of the rounds, each with a check of the work.
- Packages in their newest versions. p-queue asks for Node 22 from version 10 on; it passes the check on Node 20, too.

\`deno task bench\` measures the local rows on your machine. \`deno task bench:all\` measures all run-times, and
\`deno task bench:report\` makes this page, [all figures](benchmarks/figures.md), and \`bench/GOALS.md\`, where the goals, the attempts and
their reasons are.`;
}

/** The situations of the ten rows that no suite has: a renamed one must not vanish unnoticed. */
export function missing(suites: readonly { situations: readonly Described[] }[]): string[] {
  const names = new Set(suites.flatMap(({ situations }) => situations).map(({ name }) => name));
  return Object.keys(CHOSEN).filter((name) => !names.has(name));
}
