/**
 * Turns the notifications of the hook into events. Invariant: it is the hook exactly while it has listeners, and it has
 * no record from before the first listener.
 *
 * @module
 */
import { DISPOSE } from "../internal/dispose.ts";
import { type GiveUpOutcome, type Hook, type Resource, setHook } from "../internal/hook.ts";
import { captureStack } from "./call_site.ts";
import { DeadlockError, ownHold, waitsForRelease } from "./deadlock.ts";
import { type Acquisition, atSite, CallOrigin } from "./acquisition.ts";
import type { DiagnosticEvent } from "./events.ts";
import { type Listener, type Methods, withoutThrowing } from "./listeners.ts";
import { Registry } from "./registry.ts";
import { callInRun, currentRun, noteCall, recentIdsIn } from "./run_context.ts";

class Hub implements Omit<Hook, "step" | "failRenewal"> {
  // Its Hook methods are called only through `safeHook`.
  /** The present waits and holds; replaced whenever the last listener leaves. */
  registry: Registry = new Registry();
  /** The origins of calls that have begun and neither waited nor been granted. */
  #origins = new WeakMap<object, CallOrigin>();
  /** Replaced on change, so that iterating over it is safe. */
  #listeners: readonly Listener[] = [];
  #lastId = 0;
  /** Whether a listener asks for each of these; see {@linkcode Listener}. */
  #sites = false;
  #runs = false;
  #rejects = false;

  /** Notifies the listener until it is disposed of. */
  listen(listener: Listener): Disposable {
    this.#setListeners([...this.#listeners, listener]);
    return { [DISPOSE]: () => this.#setListeners(this.#listeners.filter((one) => one !== listener)) };
  }

  #setListeners(all: readonly Listener[]): void {
    this.#listeners = all;
    this.#sites = all.some(({ sites }) => sites);
    this.#runs = all.some(({ runs }) => runs);
    this.#rejects = all.some(({ rejects }) => rejects);
    setHook(this.isOn ? safeHook : undefined);
    if (!this.isOn) this.registry = new Registry();
  }

  get isOn(): boolean {
    return this.#listeners.length > 0;
  }

  /** A listener may dispose of another one. Events that it causes come later, because changes run in order. */
  notify<N extends keyof Methods>(name: N, ...args: Parameters<Methods[N]>): void {
    for (const listener of this.#listeners) {
      const method = listener[name] as ((...args: Parameters<Methods[N]>) => void) | undefined;
      if (this.#listeners.includes(listener)) withoutThrowing(() => method?.call(listener, ...args));
    }
  }

  /** Records where and when a call begins. `earlier` is another object of the same user call, whose place is used. */
  begin(call: object, earlier?: object): void {
    this.#origins.set(call, this.#newOrigin(earlier && this.#knownOrigin(earlier), performance.now()));
  }

  wait(resource: Resource, call: object, permits: number): void {
    const acquisition = this.#add(resource, call, permits);
    this.registry.move(acquisition, "waits", acquisition.origin.began);
    this.notify("wait", eventOf(acquisition, {}), acquisition);
  }

  grant(resource: Resource, call: object, permits: number, hold = call): void {
    const known = this.registry.acquisitionOf(call);
    const acquisition = known?.state === "waits" ? known : this.#add(resource, call, permits);
    if (hold !== call) this.registry.setGuard(acquisition, hold);
    const waited = this.registry.move(acquisition, acquisition.createsHold ? "holds" : "ended");
    this.notify("grant", eventOf(acquisition, { waited }), acquisition);
  }

  giveUp(resource: Resource, call: object, outcome: GiveUpOutcome, permits: number): void {
    const acquisition = outcome === "full" ? this.#add(resource, call, permits) : this.registry.acquisitionOf(call);
    // The call began to wait before the first listener.
    if (acquisition === undefined || (outcome !== "full" && acquisition.state !== "waits")) return;
    const waited = this.registry.move(acquisition, "ended");
    if (this.#runs) this.registry.rememberRefused(acquisition);
    this.notify("giveUp", eventOf(acquisition, { waited, outcome }), acquisition);
  }

  release(_resource: Resource, hold: object, isLost = false): void {
    const acquisition = this.registry.acquisitionOf(hold);
    if (acquisition?.state === "holds") this.#end(acquisition, isLost);
  }

  /** Reports the release of another caller's hold, if the latest acquire of the releasing code was refused. */
  releaseWithoutGuard(hold: object): void {
    const acquisition = this.registry.acquisitionOf(hold);
    if (acquisition?.state !== "holds") return;
    const ids = recentIdsIn(acquisition.group.key);
    const refused = this.registry.refusedCall(ids[0]);
    if (refused === undefined) return;
    const origin = this.#newOrigin();
    // The release may be for an earlier acquisition, in a function around the refused one.
    if (ids.includes(acquisition.id) && !refused.origin.site?.isInFunctionOf(origin.site)) return;
    this.notify("wrongRelease", { hold: acquisition, refused, origin });
  }

  /** Permits given back without a guard name no hold: the oldest holds that they cover end. */
  giveBack(resource: Resource, permits: number): void {
    for (const acquisition of this.registry.groupOf(resource)?.holds ?? []) {
      if (permits < acquisition.permits) return;
      permits -= acquisition.permits;
      this.#end(acquisition);
    }
  }

  run<T>(call: object, fn: () => T): T {
    if (!this.#runs) return fn();
    return callInRun(this.registry.acquisitionOf(call)?.origin.id, fn, this.registry.holds);
  }

  deadlockErrorOf(resource: Resource, call: object, operation: string): DeadlockError | undefined {
    if (!this.#rejects || resource.isStart) return undefined; // started work does not block its caller
    const origin = this.#originOf(call);
    const hold = ownHold(this.registry, resource, origin);
    if (hold === undefined) return undefined;
    const state = `the run around the call${atSite({ origin })} holds it, and would wait for itself`;
    return new DeadlockError(`Cannot ${operation}: ${state}${this.#heldInWords(hold)}`);
  }

  /** Words about the holder, for the message of a time-out; asked for together with runs. */
  holderText(resource: Resource): string {
    const [holder] = this.#runs && waitsForRelease(resource) ? this.registry.groupOf(resource)?.holds ?? [] : [];
    return holder === undefined ? "" : this.#heldInWords(holder);
  }

  #heldInWords({ since, origin }: Acquisition): string {
    return `; held for ${Math.round(performance.now() - since)} ms${atSite({ origin }, ", acquired at")}`;
  }

  #end(acquisition: Acquisition, isLost = false): void {
    const held = this.registry.move(acquisition, "ended");
    const end = isLost ? { held, outcome: "lost" } as const : { held };
    this.notify("release", eventOf(acquisition, end), acquisition);
  }

  /** Adds an acquisition. An acquisition that returns to the queue, as for a Condition, keeps its origin. */
  #add(resource: Resource, call: object, permits: number): Acquisition {
    const origin = this.#originOf(call);
    const acquisition = this.registry.add(++this.#lastId, resource, call, permits / (resource.unit ?? 1), origin);
    // A call that has begun before is reported in a later turn.
    if (this.#runs && origin.began === undefined) noteCall(acquisition.id, acquisition.group.key);
    return acquisition;
  }

  #originOf(call: object): CallOrigin {
    return this.#knownOrigin(call) ?? this.#newOrigin();
  }

  #knownOrigin(call: object): CallOrigin | undefined {
    return this.registry.acquisitionOf(call)?.origin ?? this.#origins.get(call);
  }

  #newOrigin(earlier?: CallOrigin, began?: number): CallOrigin {
    const stack = this.#sites ? earlier ?? captureStack() : undefined;
    return new CallOrigin(this.#runs ? currentRun() : undefined, stack, began);
  }
}

/** The event of an acquisition's latest change, with the facts that this kind of event adds. */
function eventOf<T>({ id, resource: { kind, name, key }, permits, since }: Acquisition, facts: T): DiagnosticEvent & T {
  return Object.freeze({ id, kind, name, key, permits, at: since, ...facts });
}

/** The one hub. */
export const hub: Hub = new Hub();

/** The changes of the present step, in order. */
const changes: (() => void)[] = [];
/** The number of nested steps; the changes run at the end of the outermost one. */
let stepDepth = 0;

function step<T>(fn: () => T): T {
  stepDepth++;
  try {
    return fn();
  } finally {
    if (--stepDepth === 0) runChanges();
  }
}

/** Runs a change at once, or at the end of the present step. */
function enqueue(resource: Resource, change: () => void): void {
  if (resource.kind === "") return; // an inner wait, which is not reported
  changes.push(change);
  if (stepDepth === 0) runChanges();
}

/** Runs the changes in order. Actions of observers during this add changes to the end. */
function runChanges(): void {
  stepDepth++;
  for (const change of changes) {
    if (hub.isOn) withoutThrowing(change);
  }
  changes.length = 0;
  stepDepth--;
}

/**
 * The hub as primitives see it. A failure in diagnostics, as by a stack, a name or a key, never breaks a wait, a
 * time-out or a release: it becomes an uncaught error.
 */
const safeHook: Hook = {
  step,
  begin: (call, earlier) => withoutThrowing(() => hub.begin(call, earlier)),
  wait: (resource, call, permits) => enqueue(resource, () => hub.wait(resource, call, permits)),
  grant: (resource, call, permits, hold) => enqueue(resource, () => hub.grant(resource, call, permits, hold)),
  giveUp: (resource, call, outcome, permits) => enqueue(resource, () => hub.giveUp(resource, call, outcome, permits)),
  release: (resource, hold, isLost) => enqueue(resource, () => hub.release(resource, hold, isLost)),
  failRenewal: (resource) => enqueue(resource, () => hub.notify("failRenewal", resource)),
  releaseWithoutGuard: (hold) => withoutThrowing(() => hub.releaseWithoutGuard(hold)),
  giveBack: (resource, permits) => enqueue(resource, () => hub.giveBack(resource, permits)),
  run: (call, fn) => hub.run(call, fn), // errors of `fn` belong to the caller
  deadlockErrorOf: (resource, call, operation) => withoutThrowing(() => hub.deadlockErrorOf(resource, call, operation)),
  holderText: (resource) => withoutThrowing(() => hub.holderText(resource)) ?? "",
};
