/**
 * The findings of a watchdog, as objects and in words.
 *
 * @module
 */
import { type Acquisition, atSite } from "./acquisition.ts";
import type { Deadlock, StuckRun } from "./deadlock.ts";
import type { WrongRelease } from "./listeners.ts";
import { callOf, type CallSnapshot } from "./snapshot.ts";

/** A call with the resource that it waits for or holds. */
export interface FoundCall extends CallSnapshot {
  /** "waits" or "holds". */
  readonly state: "waits" | "holds";
  /** As in the events. */
  readonly kind: string;
  /** The name passed to its constructor. */
  readonly name: string | undefined;
  /** The key, for one key of a KeyedMutex or RedisKeyedMutex. */
  readonly key: unknown;
}

/** A report of a watchdog. */
export interface Finding {
  /**
   * - "held": a hold that lasts longer than `held`
   * - "waited": a wait that lasts longer than `waited`, or is pending when the process ends
   * - "self": a call that waits for a hold of its own `run`
   * - "cycle": `run`s that wait for each other
   * - "release": `lock.release()` by a caller whose own acquire was refused: it has freed another caller's hold
   */
  readonly kind: "held" | "waited" | "self" | "cycle" | "release";
  /** The finding in words. */
  readonly message: string;
  /**
   * The calls involved. "held": the hold, then the first waiter. "waited": the wait, then the first holder. "self": the
   * hold, then the wait. "cycle": for each run its hold, then its wait. "release": the hold.
   */
  readonly calls: readonly FoundCall[];
}

/** Describes a hold that lasts too long. */
export function longHold(hold: Acquisition, now: number): Finding {
  const { waits } = hold.group;
  const [waiter] = waits;
  const waiters = waiter === undefined
    ? hold.resource.isRemote
      ? "no call of this process waits for it, inspect() shows those of others"
      : "no call waits for it"
    : `${plural(waits.size, "call waits", "calls wait")} for it, the first for ${age(waiter, now)}${atSite(waiter)}`;
  const message = `long hold: ${hold.thing.label} has been held for ${age(hold, now)}, since ${timeOfDay(hold, now)}` +
    `${atSite(hold, ", acquired at")}; ${waiters}`;
  return finding("held", message, waiter === undefined ? [hold] : [hold, waiter], now);
}

/** Describes a wait that lasts too long, or is pending when the process ends. */
export function longWait(wait: Acquisition, now: number, prefix = "long wait: "): Finding {
  const { holds, waits } = wait.group;
  const [holder] = holds;
  const others = waits.size === 1 ? "" : ` (${plural(waits.size - 1, "other call waits", "other calls wait")}, too)`;
  const message = `${prefix}a call${atSite(wait)} has waited for ${wait.thing.label} for ${age(wait, now)}, since ` +
    `${timeOfDay(wait, now)}${others}; ${holderInWords(wait, holder, now)}`;
  return finding("waited", message, holder === undefined ? [wait] : [wait, holder], now);
}

function holderInWords(wait: Acquisition, holder: Acquisition | undefined, now: number): string {
  const { resource, group, createsHold } = wait;
  if (!createsHold) return "nothing has ended its wait";
  if (holder === undefined) {
    return resource.isRemote
      ? "its holder is not on this connection, inspect() shows it"
      : "its holder is not known, it began before the watchdog";
  }
  const others = group.holds.size === 1 ? "" : `, the oldest of ${group.holds.size} holders`;
  return `held for ${age(holder, now)}${atSite(holder, ", acquired at")}${others}`;
}

/** Describes a release of another caller's hold. */
export function wrongReleaseFinding({ hold, refused, origin }: WrongRelease, now: number): Finding {
  const message = `wrong release: ${hold.thing.label} is released${atSite({ origin })} by a caller whose own acquire` +
    `${atSite(refused)} was refused; another call has held it for ${age(hold, now)}${atSite(hold, ", acquired at")}. ` +
    "Release the guard in place of the lock";
  return finding("release", message, [hold], now);
}

/** Describes a wait for its own run, or runs that wait for each other. */
export function deadlockFinding(deadlock: Deadlock, now: number): Finding {
  const calls = deadlock.flatMap(({ hold, wait }) => [hold, wait]);
  return deadlock.length === 1
    ? finding("self", `self-wait: ${selfWaitInWords(deadlock[0]!, now)}`, calls, now)
    : finding("cycle", `cycle: ${cycleInWords(deadlock, now)}`, calls, now);
}

function selfWaitInWords({ hold, wait }: StuckRun, now: number): string {
  return `a call${atSite(wait)} has waited for ${wait.thing.label} for ${age(wait, now)}, since ` +
    `${timeOfDay(wait, now)}, inside of the run that has held it for ${age(hold, now)}${atSite(hold, ", acquired at")}`;
}

function cycleInWords(deadlock: Deadlock, now: number): string {
  const runs = deadlock.map(({ hold, wait }) => {
    const held = `one has held ${hold.thing.label} for ${age(hold, now)}${atSite(hold, ", acquired at")}`;
    return `\n  ${held}, and has waited for ${wait.thing.label} for ${age(wait, now)}${atSite(wait)}`;
  });
  const since = Math.max(...deadlock.map(({ wait }) => wait.since));
  return `${deadlock.length} runs wait for each other since ${timeOfDay({ since }, now)}:${runs.join("")}`;
}

function finding(kind: Finding["kind"], message: string, acquisitions: readonly Acquisition[], now: number): Finding {
  const calls = acquisitions.map((acquisition) => {
    const { kind, name, key } = acquisition.resource;
    return { ...callOf(acquisition, now), state: acquisition.state as FoundCall["state"], kind, name, key };
  });
  return { kind, message: `Interlock: ${message}`, calls };
}

/** Formats how long it has waited or held, as in `950 ms`, `10.2 s` and `12 min`. */
function age({ since }: Acquisition, now: number): string {
  const ms = Math.max(0, now - since);
  if (ms < 1000) return `${Math.round(ms)} ms`;
  return ms < 120_000 ? `${(ms / 1000).toFixed(1)} s` : `${Math.round(ms / 60_000)} min`;
}

/** The time of day at which it began. */
function timeOfDay({ since }: Pick<Acquisition, "since">, now: number): string {
  return new Date(Date.now() - (now - since)).toTimeString().slice(0, 8);
}

function plural(n: number, one: string, many: string): string {
  return `${n} ${n === 1 ? one : many}`;
}
