/** The benchmarks do what they say: each contender does its work in each situation, and the page shows the figures. */
import assert from "node:assert/strict";
import { chart, THEMES } from "../../bench/_chart.ts";
import { figuresPage } from "../../bench/_figures_page.ts";
import { goalsPage } from "../../bench/_goals_page.ts";
import { missing, page } from "../../bench/_page.ts";
import { merged, type Results, type Run } from "../../bench/_results.ts";
import { measure, quantile, type Row } from "../../bench/_runner.ts";
import type { Goal, Situation } from "../../bench/_situation.ts";
import { situations as redis } from "../../bench/redis/situations.ts";
import { situations } from "../../bench/situations.ts";
import { type Verdict, verdictsOf } from "../../bench/_verdict.ts";
import { test } from "../_test.ts";

/**
 * Those that are quick enough; all others are the same with larger numbers. Deno's own locks leave operations behind,
 * which its leak detection takes for ours.
 */
const quick = situations.filter(({ name, unit, operations }) =>
  unit === "ns" && operations <= 100_000 && !/10{1,2},000 (tasks|waiters)|platform/.test(name)
);

for (const situation of quick) {
  test(`bench: ${situation.name}`, async () => {
    const rows = await measure(situation, { rounds: 1, warmUp: 0 });
    const { ours, peers, floors } = situation;
    assert.equal(rows.length, Object.keys({ ...ours, ...peers, ...floors }).length);
    assert.ok(rows.every(({ median }) => median > 0), JSON.stringify(rows));
  });
}

const row = (situation: string, contender: string, kind: Row["kind"], median: number): Row => ({
  situation,
  unit: "ns",
  contender,
  kind,
  median,
  spread: 0.2,
});
const rows = [
  row("lock, 2 tasks", "interlock", "ours", 100),
  row("lock, 2 tasks", "slow", "peer", 250),
  row("lock, 2 tasks", "quick", "peer", 80),
  row("lock, 2 tasks", "bare", "floor", 50),
];
const situation: Situation = {
  name: "lock, 2 tasks",
  unit: "ns",
  operations: 1,
  ours: { interlock: () => () => () => Promise.resolve() },
  peers: { quick: () => () => Promise.resolve() },
  goals: [{ against: "peer", ratio: 1.5, why: "it is hard." }],
};

const run: Run = { version: "1", rows, alone: [] };

test("bench: a verdict compares with the best of those that count", () => {
  const verdict = (goal: Goal, runs = [run], runTime = "deno") => {
    const [{ worst, met, with: other }] = verdictsOf([{ ...situation, goals: [goal] }], runTime, runs) as [Verdict];
    return [worst, met, other];
  };
  assert.deepEqual(verdict({ against: "peer", ratio: 1.5 }), [0.8, false, "quick"]);
  assert.deepEqual(verdict({ against: "peer", ratio: 1.5, named: ["slow"] }), [2.5, true, "slow"]);
  assert.deepEqual(verdict({ against: "floor", ratio: 1.5 }), [2, false, "bare"]);
  assert.deepEqual(verdict({ against: "value", ratio: 100 }), [100, true, ""]);
  const goal: Goal = { against: "peer", ratio: 0.8, bun: 0.7 };
  const alone = rows.map((one) => ({ ...one, median: one.kind === "ours" ? 107 : one.median, cold: 2 * one.median }));
  assert.deepEqual(verdict(goal, [run, { ...run, alone }]), [80 / 107, false, "quick"]); // the worst counts
  assert.deepEqual(verdict(goal, [run, { ...run, alone }], "bun"), [80 / 107, true, "quick"]);
  assert.deepEqual(verdict({ ...goal, cold: true }, [run, { ...run, alone }]), [0.8, true, "quick"]);
  assert.equal(quantile([4, 1, 3, 2], 0.5), 2.5);
});

test("bench: a session replaces what it measured, and ends the figures of a peer that was updated", () => {
  const other = row("semaphore", "slow, twice", "peer", 7);
  const old: Run = { version: "1", rows: [...rows, other], alone: [] };
  const names = ({ rows }: Run) => rows.map(({ contender }) => contender).join();
  const session: Run = { version: "1", rows: [row("lock, 2 tasks", "new", "peer", 1)], alone: [] };
  assert.equal(names(merged(old, session)), "slow, twice,new");
  assert.equal(names(merged(old, session, ["slow"])), "new");
  assert.equal(names(merged(old, { ...old, rows: [] }, ["slow"])), "interlock,quick,bare");
  assert.equal(names(merged(old, { ...session, version: "2" })), "new");
});

test("bench: the ten rows are situations", () => {
  assert.deepEqual(missing([{ situations }, { situations: redis }]), []);
});

test("bench: the pages show the rows that are lost, figures and goals; the chart shows every contender", async () => {
  const results: Results = {
    suite: "local",
    date: "2026-01-01",
    machine: "one",
    isBusy: false,
    rounds: 3,
    peers: { quick: "1.2.3" },
    runs: { deno: { ...run, alone: rows.map((one) => ({ ...one, cold: 7 * one.median })) } },
  };
  const suites = [{ title: "In one process", situations: [situation], sessions: [results] }];
  const text = page(suites, { "`Lock`": 3700 });
  assert.match(text, /\| lock, 2 tasks \| quick 1\.3 × \(80 of 100 ns\) \| *\| *\|/);
  assert.match(text, /\| `Lock` \| 3\.7 \|/);
  const chosen = {
    ...results,
    runs: { deno: { ...run, rows: rows.map((one) => ({ ...one, situation: "lock, 100 tasks" })) } },
  };
  const ten = page(
    [{ ...suites[0]!, situations: [{ ...situation, name: "lock, 100 tasks" }], sessions: [chosen] }],
    {},
  );
  assert.match(ten, /\*\*100 ns\*\*, 1\.3 × slower than quick \| – \| – \| slow, 2\.5 \|/);
  const goals = goalsPage(suites);
  assert.match(goals, /\| lock, 2 tasks _next to quick_ \| ≥ 1\.5 \| \*\*0\.80\*\* \|/);
  assert.match(goals, /^- lock, 2 tasks: it is hard\.$/m);
  const figures = figuresPage(suites);
  assert.match(figures, /\| \*\*interlock\*\* \| 100 ±10 % \| 700 \|/);
  assert.match(figures, /deno 1; 3 rounds; quick 1\.2\.3/);
  for (const theme of Object.keys(THEMES) as (keyof typeof THEMES)[]) {
    const svg = await chart("contention", results, theme);
    for (const name of ["interlock", "slow", "quick"]) assert.ok(svg.includes(`>${name}<`), `${name} in ${theme}`);
    assert.ok(!svg.includes(">bare<"));
    const redis = ["ours", "peer"].map((kind, i) =>
      row("Redis, hand-over with 10 waiters", kind, kind as "ours", 10 ** i)
    );
    const bars = await chart("hand-over", { ...results, runs: { deno: { ...run, rows: redis } } }, theme);
    const widths = [...bars.matchAll(/aria-roledescription="bar"[^>]* d="M[\d.,]+h([\d.]+)/g)].map(([, width]) =>
      Number(width)
    );
    assert.ok(widths.length === 2 && widths.every((width) => width > 10), `${widths}`);
  }
});
