/**
 * The other end of the hook: makes the events. Invariant: it is the hook exactly while it has listeners, and it knows
 * nothing of the time before the first of them.
 *
 * @module
 */
import { type GiveUpOutcome, type Hook, type Resource, setHook } from "../internal/hook.ts";
import { captureStack } from "./call_site.ts";
import { type Entry, type Group, isHeld, Origin, permitsOf } from "./entry.ts";
import type { DiagnosticEvent } from "./events.ts";
import { type Listener, Listeners } from "./listeners.ts";
import { Registry } from "./registry.ts";
import { currentFrame, runInFrame } from "./run_context.ts";

class Hub implements Hook {
  #registry = new Registry();
  /** Of calls that have begun and neither waited nor been granted yet. */
  #origins = new WeakMap<object, Origin>();
  readonly #listeners = new Listeners();
  #lastId = 0;
  #sites = false;
  #frames = false;

  /** All groups with a waiter or a holder. */
  get groups(): Iterable<Group> {
    return this.#registry.groups;
  }

  /** Whether anything is observed. */
  get isOn(): boolean {
    return this.#listeners.size > 0;
  }

  /** The latest acquisition of that guard, waiter or lease. */
  entryOf(call: object): Entry | undefined {
    return this.#registry.entryOf(call);
  }

  /** Notifies the listener until it is disposed of. */
  listen(listener: Listener): Disposable {
    this.#listeners.add(listener);
    this.#refresh();
    return {
      [Symbol.dispose]: () => {
        this.#listeners.delete(listener);
        this.#refresh();
      },
    };
  }

  #refresh(): void {
    this.#sites = this.#listeners.need("sites");
    this.#frames = this.#listeners.need("frames");
    setHook(this.isOn ? this : undefined);
    if (!this.isOn) this.#registry = new Registry();
  }

  begin(call: object): void {
    this.#origins.set(call, this.#origin());
  }

  wait(resource: Resource, call: object, permits: number): void {
    const now = performance.now();
    const entry = this.#add(resource, call, permits);
    this.#registry.move(entry, "waits", now);
    this.#listeners.notify("wait", about(entry, now), entry);
  }

  grant(resource: Resource, call: object, permits: number): void {
    const now = performance.now();
    const known = this.entryOf(call);
    const entry = known?.state === "waits" ? known : this.#add(resource, call, permits);
    const waited = this.#registry.move(entry, isHeld(resource.kind) ? "holds" : "ended", now);
    this.#listeners.notify("grant", { ...about(entry, now), waited }, entry);
  }

  giveUp(_resource: Resource, call: object, outcome: GiveUpOutcome): void {
    const entry = this.entryOf(call);
    if (entry?.state !== "waits") return; // it began to wait before anything was observed
    const now = performance.now();
    const waited = this.#registry.move(entry, "ended", now);
    this.#listeners.notify("giveUp", { ...about(entry, now), waited, outcome }, entry);
  }

  release(_resource: Resource, call: object): void {
    const entry = this.entryOf(call);
    if (entry?.state === "holds") this.#end(entry);
  }

  giveBack(resource: Resource, permits: number): void {
    for (const entry of this.#registry.groupOf(resource)?.holds ?? []) {
      if (permits < entry.permits) return;
      permits -= entry.permits;
      this.#end(entry);
    }
  }

  run<T>(call: object, fn: () => T): T {
    return this.#frames ? runInFrame(call, fn, (one) => this.entryOf(one)?.state === "holds") : fn();
  }

  holderOf(resource: Resource): string {
    const [holder] = this.#sites ? this.#registry.groupOf(resource)?.holds ?? [] : [];
    if (holder === undefined) return "";
    const { site } = holder.origin;
    const place = site === undefined ? "" : `, acquired at ${site}`;
    return `; held for ${Math.round(performance.now() - holder.since)} ms${place}`;
  }

  #end(entry: Entry): void {
    const now = performance.now();
    const held = this.#registry.move(entry, "ended", now);
    this.#listeners.notify("release", { ...about(entry, now), held }, entry);
  }

  /** A new acquisition; one that returns to the queue, as a Condition does, keeps its origin. */
  #add(resource: Resource, call: object, permits: number): Entry {
    const origin = this.entryOf(call)?.origin ?? this.#origins.get(call) ?? this.#origin();
    return this.#registry.add(++this.#lastId, resource, call, permitsOf(resource, permits), origin);
  }

  #origin(): Origin {
    return new Origin(this.#frames ? currentFrame() : undefined, this.#sites ? captureStack() : undefined);
  }
}

function about(entry: Entry, at: number): DiagnosticEvent {
  const { kind, name, key } = entry.resource;
  return { id: entry.id, kind, name, key, permits: entry.permits, at };
}

/** The one hub. */
export const hub: Hub = new Hub();
