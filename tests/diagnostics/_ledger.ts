/**
 * The invariants of events, checked at each of them: a wait ends in one grant or giveUp, a grant of something that can be
 * held in one release, and the times fit together.
 */
import assert from "node:assert/strict";
import {
  type DiagnosticEvent,
  type GiveUpEvent,
  type GrantEvent,
  observe,
  type Observer,
  type ReleaseEvent,
} from "../../lib/diagnostics/mod.ts";
import { localKinds } from "../kinds/local.ts";
import { redisKinds } from "../kinds/redis.ts";

const NEVER_HELD = Object.values({ ...localKinds, ...redisKinds }).map(({ neverHeld }) => neverHeld);

/** Observes until it is disposed of. */
export class Ledger implements Observer, Disposable {
  /** How many events there were. */
  count = 0;
  readonly #open = new Map<number, { state: "waits" | "holds"; since: number; first: DiagnosticEvent }>();
  readonly #problems: string[] = [];
  readonly #observing: Disposable;
  #lastAt = -Infinity;
  #lastId = 0;

  constructor() {
    this.#observing = observe(this);
  }

  wait(event: DiagnosticEvent): void {
    // A wait begins with its call. That of a remote call is reported after its first command; and notifyAll() sends several
    // calls back to their lock in one step, in which others are granted.
    if (/^(redis|web)-|^lock$/.test(event.kind)) this.#lastAt = Math.min(this.#lastAt, event.at);
    this.#begin("wait", event);
    this.#open.set(event.id, { state: "waits", since: event.at, first: event });
  }

  grant(event: GrantEvent): void {
    const { id, kind, at, waited } = event;
    if (this.#open.has(id)) this.#end("grant", "waits", event, waited);
    else {
      this.#begin("grant", event);
      this.#expect(waited === 0, "a free acquire has not waited", event);
    }
    if (!NEVER_HELD.includes(kind)) this.#open.set(id, { state: "holds", since: at, first: event });
  }

  giveUp(event: GiveUpEvent): void {
    this.#end("giveUp", "waits", event, event.waited);
    this.#expect(["timeout", "aborted", "error"].includes(event.outcome), `outcome ${event.outcome}`, event);
  }

  release(event: ReleaseEvent): void {
    this.#end("release", "holds", event, event.held);
  }

  /** Asserts that no event broke a rule. */
  assertSound(): void {
    assert.deepEqual(this.#problems, []);
  }

  /** Asserts that nothing waits or holds any more, too. */
  assertSettled(): void {
    this.assertSound();
    const open = [...this.#open.values()].map(({ state, first: { id, kind } }) => `${kind} ${id} ${state}`);
    assert.deepEqual(open, []);
  }

  [Symbol.dispose](): void {
    this.#observing[Symbol.dispose]();
  }

  #begin(name: string, event: DiagnosticEvent): void {
    this.#check(event);
    this.#expect(event.id > this.#lastId, `${name} with an old id`, event);
    this.#lastId = event.id;
  }

  #end(name: string, from: "waits" | "holds", event: DiagnosticEvent, lasted: number): void {
    this.#check(event);
    const open = this.#open.get(event.id);
    this.#open.delete(event.id);
    if (!this.#expect(open?.state === from, `${name} of what ${open?.state ?? "is not open"}`, event)) return;
    const { kind, name: of, key, permits } = open!.first;
    this.#expect(lasted === event.at - open!.since, `${name} after ${lasted} ms`, event);
    assert.deepEqual([event.kind, event.name, event.key, event.permits], [kind, of, key, permits]);
  }

  #check(event: DiagnosticEvent): void {
    this.count++;
    this.#expect(event.at >= this.#lastAt, "time runs backwards", event);
    this.#lastAt = event.at;
  }

  #expect(holds: boolean, problem: string, { id, kind }: DiagnosticEvent): boolean {
    if (!holds) this.#problems.push(`${kind} ${id}: ${problem}`);
    return holds;
  }
}
