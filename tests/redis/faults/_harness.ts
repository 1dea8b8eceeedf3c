/** One scenario: a server behind a proxy, a resource, worker processes, and the conditions at the end. */
import { type ChildProcess, spawn } from "node:child_process";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { IDLE_KEPT } from "../../../lib/redis/times.ts";
import type { Random } from "../../_tools.ts";
import { type Connected, connectNode } from "../_clients.ts";
import { Server } from "../_server.ts";
import { INTERVAL, LIMIT } from "./_permits.ts";
import { FaultProxy } from "./_proxy.ts";
import { type Figures, Resource } from "./_resource.ts";
import type { Kind, Orders } from "./_worker.ts";

export const TTL = 1000;
/** Milliseconds of a hold of a worker, and the most writes in it: one each 5 ms, and a last one if the lease is lost. */
const HOLD = 10;
export const WRITES = HOLD / 5 + 1;
/** A lease, a heartbeat of a waiter, and the time that a client takes to reconnect. */
const RECOVERY = TTL + 1000 + 3000;
const WORKER = fileURLToPath(new URL("./_worker.ts", import.meta.url));

/** A fault and its conditions. */
export interface Scenario {
  readonly name: string;
  /** Whether it also runs in the tests. */
  readonly fast?: boolean;
  /** The weight that fits in. Default: 1. */
  readonly room?: number;
  /** Data is lost, or a holder sleeps past its lease: two callers may trust their holds, and only fencing helps. */
  readonly lossy?: boolean;
  /** Leases may end while they are held, and the last write of such a holder must be rejected. */
  readonly expiring?: boolean;
  readonly args?: readonly string[];
  run(harness: Harness): Promise<void>;
}

/** The result of a scenario. */
export interface Verdict extends Figures {
  readonly name: string;
  readonly violations: string[];
  /** Milliseconds from the end of the fault to the next entry; undefined if there was nothing to recover from. */
  readonly recovery: number | undefined;
  readonly seconds: number;
}

export class Harness {
  readonly server: Server;
  readonly proxy: FaultProxy;
  readonly random: Random;
  readonly violations: string[] = [];
  recovery: number | undefined;
  readonly #resource: Resource;
  readonly #resourcePort: number;
  readonly #workers: ChildProcess[] = [];
  readonly #connected: Connected[] = [];

  constructor(server: Server, proxy: FaultProxy, random: Random, resource: Resource, resourcePort: number) {
    this.server = server;
    this.proxy = proxy;
    this.random = random;
    this.#resource = resource;
    this.#resourcePort = resourcePort;
  }

  get figures(): Figures {
    return this.#resource.figures;
  }

  /** Records a violation if the condition is false. */
  must(holds: boolean, otherwise: string): void {
    if (!holds) this.violations.push(otherwise);
  }

  /** A client in this process, through the proxy. */
  async connect(): Promise<Connected> {
    const one = await connectNode(this.proxy.url);
    this.#connected.push(one);
    return one;
  }

  /** Starts `count` processes, and waits until each is connected. */
  async workers(count: number, kind: Kind, orders: Partial<Orders> = {}): Promise<ChildProcess[]> {
    const started = Array.from({ length: count }, () => this.#worker(kind, orders));
    return await Promise.all(started);
  }

  async #worker(kind: Kind, more: Partial<Orders>): Promise<ChildProcess> {
    const worker = `${kind} ${this.#workers.length + 1}`;
    const rest = { ttl: TTL, hold: HOLD, timeout: 8000, skew: 0, clock: false, ...more };
    const orders: Orders = { url: this.proxy.url, resource: this.#resourcePort, worker, kind, ...rest };
    const flags = "Deno" in globalThis
      ? ["run", "--quiet", "-A", "--no-check"]
      : process.execArgv.filter((flag) => flag.startsWith("--import"));
    const child = spawn(process.execPath, [...flags, WORKER, JSON.stringify(orders)], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    this.#workers.push(child);
    child.stdin!.on("error", () => {});
    await new Promise<void>((resolve, reject) => {
      child.stdout!.once("data", () => resolve());
      child.once("exit", (code) => reject(new Error(`${worker} ended with ${code}`)));
    });
    return child;
  }

  /** Waits for this number of further entries. */
  async entries(count: number, ms = RECOVERY + 5000): Promise<void> {
    const enough = this.figures.acquisitions + count;
    const missing = () => enough - this.figures.acquisitions;
    await this.until(() => missing() <= 0, () => `no progress: ${missing()} entries missing`, ms);
  }

  /** Waits for a condition that must become true within the time. */
  async until(condition: () => boolean, otherwise: () => string, ms = RECOVERY + 5000): Promise<void> {
    for (const end = performance.now() + ms; !condition(); await sleep(2)) {
      if (performance.now() >= end) return this.must(false, `${otherwise()} after ${ms} ms`);
    }
  }

  /** Called when the fault is over: the next entry must follow soon. */
  async recover(entries = 5): Promise<void> {
    const start = performance.now();
    await this.entries(1);
    this.recovery = performance.now() - start;
    this.must(this.recovery <= RECOVERY, `recovered after ${Math.round(this.recovery)} ms, more than ${RECOVERY}`);
    await this.entries(entries);
  }

  /** Ends the workers in the regular way, and collects their complaints. */
  async stop(): Promise<void> {
    await Promise.all(this.#workers.map(async (child) => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const gone = new Promise((resolve) => child.once("exit", resolve));
      child.stdin!.end();
      const alarm = setTimeout(() => {
        this.violations.push("a worker did not end");
        process.kill(child.pid!, "SIGKILL");
      }, 15_000);
      const code = await gone;
      clearTimeout(alarm);
      this.must(code === 0 || code === null, `a worker ended with ${code}`);
    }));
    for (const one of this.#connected) await one.close();
  }

  /** No key without a time to live, and none that is kept for longer than an idle one. */
  async checkKeys(): Promise<void> {
    const ours = async () => (await this.server.send("KEYS", "interlock:*")) as string[];
    for (const key of await ours()) {
      const ttl = await this.server.send("PTTL", key);
      this.must(ttl !== -1, `key ${key} has no time to live`);
    }
    const lives = async () =>
      await Promise.all((await ours()).map((key) => this.server.send("PTTL", key).then(Number)));
    for (const end = performance.now() + 2 * TTL + 6000; performance.now() < end; await sleep(50)) {
      if ((await lives()).every((ms) => ms <= IDLE_KEPT)) return;
    }
    this.must(false, `keys left: ${await ours()}`);
  }
}

/** Lets workers share a lock, calls `fault` meanwhile, and waits for the recovery. */
export function through(fault: (harness: Harness) => Promise<unknown>, orders?: Partial<Orders>): Scenario["run"] {
  return async (harness) => {
    await harness.workers(4, "lock", orders);
    await harness.entries(20);
    await fault(harness);
    await harness.recover();
  };
}

/** A process that was stopped or killed. */
export function signal(child: ChildProcess, name: "SIGSTOP" | "SIGCONT" | "SIGKILL"): void {
  process.kill(child.pid!, name);
}

/** Runs one scenario from the start to its verdict. */
export async function runScenario(scenario: Scenario, random: Random): Promise<Verdict> {
  const start = performance.now();
  const server = await Server.start(...scenario.args ?? []);
  const proxy = await FaultProxy.start(server.port);
  const resource = new Resource(scenario.room ?? 1);
  const harness = new Harness(server, proxy, random, resource, await resource.listen());
  // Such as of calls that a failed scenario has left: one more violation, and the next scenarios still run.
  const unhandled = (error: unknown) => void harness.violations.push(`unhandled rejection: ${error}`);
  process.on("unhandledRejection", unhandled);
  try {
    await scenario.run(harness);
    await harness.stop();
    await harness.checkKeys();
  } catch (error) {
    harness.violations.push(`the scenario failed: ${error instanceof Error ? error.stack : error}`);
  } finally {
    await harness.stop();
    await proxy[Symbol.asyncDispose]();
    await resource[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
    process.off("unhandledRejection", unhandled);
  }
  const { figures, recovery, violations } = harness;
  violations.push(...figures.notes, ...tooMany(figures.starts, scenario.lossy ? 2 * LIMIT : LIMIT));
  if (!scenario.lossy) {
    violations.push(...figures.overlaps.map((overlap) => `overlap: ${overlap}`));
    if (figures.stale > 0 && !scenario.expiring) {
      violations.push(`${figures.stale} writes with a token that was out of date`);
    }
  }
  return { ...figures, name: scenario.name, violations, recovery, seconds: (performance.now() - start) / 1000 };
}

/** Starts above the limit in a window, by the server's turns. Lost data may allow one window more. */
function tooMany(starts: readonly number[], limit: number): string[] {
  const sorted = starts.toSorted((a, b) => a - b);
  return sorted.flatMap((at, i) => {
    const apart = i < limit ? Infinity : (at - sorted[i - limit]!) / 1000;
    return apart >= INTERVAL - 0.01 ? [] : [`${limit + 1} starts within ${apart} ms`];
  });
}
