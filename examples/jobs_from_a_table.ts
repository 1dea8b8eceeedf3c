/**
 * A worker that takes jobs from a table of node:sqlite: three at a time, one of each tenant, and those that fail again
 * after a growing pause. At SIGTERM what has begun ends, what waits goes back into the table, and it exits with 0.
 *
 * node:sqlite is part of Deno, of Node from 22.13 on and of Bun from 1.4 on; Node 20 has none.
 *
 *     deno run -A examples/jobs_from_a_table.ts [FILE]
 */
import { GracefulShutdown, KeyedSemaphore, Pool, Semaphore } from "@interlock/interlock";
import process from "node:process";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";

const AT_A_TIME = 3;
const PER_TENANT = 1;
/** Claimed jobs, running and waiting: more than run, so that a job of another tenant is at hand while one is busy. */
const CLAIMED = 8;
const ATTEMPTS = 3;
const FIRST_PAUSE = 50;

interface Job {
  readonly id: number;
  readonly tenant: string;
  readonly task: string;
  readonly attempts: number;
}

/** The table. A job is "ready" (from `due` on), "claimed", "done" or "failed". */
class Jobs {
  readonly #database: DatabaseSync;

  constructor(file: string) {
    this.#database = new DatabaseSync(file);
    this.#database.exec(`CREATE TABLE IF NOT EXISTS jobs (id INTEGER PRIMARY KEY, tenant TEXT, task TEXT,
      state TEXT DEFAULT 'ready', attempts INTEGER DEFAULT 0, due INTEGER DEFAULT 0)`);
    // Of a worker that was killed. With several workers: a column with the time until which a claim holds.
    this.#database.exec("UPDATE jobs SET state = 'ready' WHERE state = 'claimed'");
  }

  add(tenant: string, task: string): void {
    this.#database.prepare("INSERT INTO jobs (tenant, task) VALUES (?, ?)").run(tenant, task);
  }

  /** Takes the oldest job that is due. */
  claim(): Job | undefined {
    return this.#database.prepare(`UPDATE jobs SET state = 'claimed' WHERE id =
      (SELECT id FROM jobs WHERE state = 'ready' AND due <= ? ORDER BY id LIMIT 1)
      RETURNING id, tenant, task, attempts`).get(Date.now()) as Job | undefined;
  }

  set({ id }: Job, state: string, attempts: number, due = 0): void {
    this.#database.prepare("UPDATE jobs SET state = ?, attempts = ?, due = ? WHERE id = ?").run(
      state,
      attempts,
      due,
      id,
    );
  }

  count(state: string): number {
    return this.#database.prepare("SELECT count(*) AS n FROM jobs WHERE state = ?").get(state)!.n as number;
  }
}

/** Works until no job is left, or the signal aborts. A worker of a service goes on, and polls. */
async function work(jobs: Jobs, perform: (job: Job) => Promise<void>, signal: AbortSignal): Promise<void> {
  const [slots, tenants] = [new Semaphore(AT_A_TIME), new KeyedSemaphore<string>(PER_TENANT)];

  async function* claimed() {
    while (!signal.aborted) {
      const job = jobs.claim();
      if (job !== undefined) yield job;
      else if (jobs.count("ready") + jobs.count("claimed") === 0) return;
      else await sleep(10, undefined, { signal }).catch(() => {});
    }
  }

  /** The narrow limit first: jobs that wait for their tenant take no slot. The signal ends the waits, and no job. */
  async function run(job: Job): Promise<void> {
    let begun = false;
    const begin = () => {
      begun = true;
      return attempt(job);
    };
    try {
      await tenants.run(job.tenant, () => slots.run(begin, { signal }), { signal });
    } catch (error) {
      if (begun) throw error; // the table is broken: the map ends
      jobs.set(job, "ready", job.attempts); // it was waiting at the signal
    }
  }

  /** The pause is in the table, so it takes no slot, and outlives this process. */
  async function attempt(job: Job): Promise<void> {
    const attempts = job.attempts + 1;
    try {
      await perform(job);
    } catch {
      if (attempts === ATTEMPTS) return jobs.set(job, "failed", attempts);
      return jobs.set(job, "ready", attempts, Date.now() + FIRST_PAUSE * 2 ** job.attempts);
    }
    jobs.set(job, "done", attempts);
  }

  await Pool.map(claimed(), CLAIMED, run); // without the signal, which would abort the jobs
}

export async function main(print: (line: string) => void = console.log, file = ":memory:"): Promise<boolean> {
  const shutdown = new GracefulShutdown();
  const jobs = new Jobs(file);
  if (jobs.count("done") === 0) {
    for (const task of ["mail", "flaky", "broken", "report", "invoice"]) {
      for (const tenant of ["ada", "alan", "grace", "edsger"]) jobs.add(tenant, task);
    }
  }
  const perform = async ({ id, tenant, task, attempts }: Job) => {
    print(`begin ${id} of ${tenant}`);
    await sleep(30);
    print(`end ${id} of ${tenant}`);
    if (task === "broken" || (task === "flaky" && attempts === 0)) throw new Error("503");
  };
  void shutdown.track((signal) => work(jobs, perform, signal), "worker").then(() => shutdown.request("no job is left"));
  const { ok } = await shutdown.finished;
  print(["done", "failed", "ready", "claimed"].map((state) => `${jobs.count(state)} ${state}`).join(", "));
  return ok;
}

if (import.meta.main) process.exit(await main(console.log, process.argv[2]) ? 0 : 1);
