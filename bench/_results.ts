/** The files in bench/results: one for each session. */
import os from "node:os";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import type { Row } from "./_runner.ts";

/** The figures of one run-time. */
export interface Run {
  readonly version: string;
  /** Of all contenders in turns, in one process. */
  readonly rows: readonly Row[];
  /** Of each contender in processes of its own. */
  readonly alone: readonly Row[];
}

/** One session. */
export interface Results {
  readonly suite: string;
  readonly date: string;
  readonly machine: string;
  /** Whether one core was kept busy. */
  readonly isBusy: boolean;
  readonly rounds: number;
  /** Versions of the peers. */
  readonly peers: Readonly<Record<string, string>>;
  readonly runs: Readonly<Record<string, Run>>;
}

/** The machine that the figures were measured on. */
export function machine(): string {
  const [cpu, ...others] = os.cpus();
  return `${others.length + 1} × ${cpu?.model.trim()}, ${os.type()}`;
}

/** The version of a package that is installed. */
export function peerVersion(name: string): string {
  const manifest = new URL(`../node_modules/${name}/package.json`, import.meta.url);
  return JSON.parse(readFileSync(manifest, "utf8")).version;
}

const folder = new URL("results/", import.meta.url);

function fileOf(suite: string, isBusy: boolean): URL {
  return new URL(`${suite}${isBusy ? "-busy" : ""}.json`, folder);
}

export function load(suite: string, isBusy: boolean): Results | undefined {
  const file = fileOf(suite, isBusy);
  return existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : undefined;
}

/** Writes the results; of those that the file has, the ones that were not measured again stay. */
export function save(results: Results): string {
  mkdirSync(folder, { recursive: true });
  const file = fileOf(results.suite, results.isBusy);
  const { runs: old = {}, peers = {} } = load(results.suite, results.isBusy) ?? {};
  const updated = Object.keys(peers).filter((name) => peers[name] !== (results.peers[name] ?? peers[name]));
  const runs: Record<string, Run> = {};
  for (const name of Object.keys({ ...old, ...results.runs })) {
    runs[name] = merged(old[name], results.runs[name] ?? { ...old[name]!, rows: [], alone: [] }, updated);
  }
  writeFileSync(file, JSON.stringify({ ...results, runs }, undefined, 1) + "\n");
  return file.pathname;
}

/** Figures of another version of the run-time, or of a peer that was updated, are not kept. */
export function merged(old: Run | undefined, run: Run, updated: readonly string[] = []): Run {
  if (old?.version !== run.version) return run;
  const measured = new Set(run.rows.map(({ situation }) => situation));
  const isOld = ({ contender }: Row) => updated.some((name) => contender.startsWith(name));
  const kept = (rows: readonly Row[]) => rows.filter((row) => !measured.has(row.situation) && !isOld(row));
  return { ...run, rows: [...kept(old.rows), ...run.rows], alone: [...kept(old.alone), ...run.alone] };
}
