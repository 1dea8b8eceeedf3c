/**
 * The holds of one name in one process, judged by the wall clock: the weight never exceeds the room, every token
 * larger than all before, and grants in the order of arrival.
 */
import type { Acquirable, Lease, WaitOptions } from "../../../lib/redis/mod.ts";
import type { Harness } from "./_harness.ts";

export class History {
  readonly #harness: Harness;
  readonly #room: number;
  readonly #inside = new Map<string, Lease>();
  readonly #tokens = new Set<number>();
  /** Labels in the order of their grants. */
  readonly order: string[] = [];

  constructor(harness: Harness, room = 1) {
    this.#harness = harness;
    this.#room = room;
  }

  /** Acquires, and notes the grant. The lease must be released with `leave`. */
  async enter(label: string, body: Acquirable<Lease>, options?: WaitOptions): Promise<Lease> {
    const lease = await body.acquire(options);
    this.#harness.figures.acquisitions++;
    this.order.push(label);
    this.#harness.must(!this.#tokens.has(lease.fencingToken), `${label} got the token ${lease.fencingToken} again`);
    this.#tokens.add(lease.fencingToken);
    for (const [other, held] of this.#inside) if (!held.held) this.#inside.delete(other);
    const others = [...this.#inside.keys()];
    if (lease.held) this.#inside.set(label, lease);
    this.#harness.must(this.#inside.size <= this.#room, `${label} holds next to ${others}`);
    return lease;
  }

  async leave(label: string, lease: Lease): Promise<boolean> {
    this.#inside.delete(label);
    return await lease.release();
  }

  /** Acquires and releases. */
  async visit(label: string, body: Acquirable<Lease>, options?: WaitOptions): Promise<void> {
    await this.leave(label, await this.enter(label, body, options));
  }
}
