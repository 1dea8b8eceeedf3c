/**
 * The store in this process. Every request runs at once, in the caller's turn. Its answer and messages come in later
 * microtasks, as from a server. A name notifies its waiters itself, and a timer ends leases, so that no waiter has to
 * be woken. No request fails.
 *
 * @module
 */
// deno-lint-ignore-file require-await
import { exposeState } from "../../internal/state.ts";
import { MemoryRate } from "../rate/memory_rate.ts";
import type { RateStore, StoredRate } from "../rate/rate_store.ts";
import { Ids } from "./ids.ts";
import { MemoryData } from "./memory_data.ts";
import { MemoryName } from "./memory_name.ts";
import type { Store, StoredResource } from "./store.ts";

export class MemoryStore implements Store {
  readonly backend: Store["backend"] = {};
  readonly ids: Ids = new Ids();
  readonly #names = new MemoryData<MemoryName>();
  readonly #rates = new MemoryData<MemoryRate>();

  static {
    exposeState(MemoryStore, (store) => store.#names);
  }

  readonly acquire: Store["acquire"] = async (request) => {
    const name = this.#stateOf(request.spec);
    return request.adopts === undefined ? name.acquire(request) : name.adopt(request);
  };
  readonly release: Store["release"] = async (spec, id) => this.#stateOf(spec).release(id);
  readonly releaseAll: Store["releaseAll"] = async (spec) => this.#stateOf(spec).releaseAll();
  readonly renew: Store["renew"] = async (holds) => holds.map((hold) => this.#stateOf(hold.spec).renew(hold));
  readonly verify: Store["verify"] = async (spec, id) => this.#stateOf(spec).timeLeftOf(id);
  readonly inspect: Store["inspect"] = async (spec) => this.#stateOf(spec).inspect();
  readonly rates: RateStore = {
    start: async ({ spec, starts, within }) => this.#rateOf(spec).start(starts, within),
    askAgain: async ({ spec, starts }, number) => this.#rateOf(spec, number).askAgain(starts, number),
    giveBack: async ({ spec, starts }, number) => this.#rateOf(spec).giveBack(starts, number),
    change: async (spec, change) => this.#rateOf(spec).change(change),
  };

  #stateOf({ keys: [key] }: StoredResource): MemoryName {
    return this.#names.of(key, () => new MemoryName());
  }

  #rateOf({ keys: [key], budgets }: StoredRate, number?: number): MemoryRate {
    return this.#rates.of(key, () => new MemoryRate()).advance(budgets, number);
  }
}
