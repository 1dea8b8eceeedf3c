/**
 * The rate limits of a store in memory.
 *
 * @module
 */
import { MemoryData } from "../store/memory_data.ts";
import { MemoryRate } from "./memory_rate.ts";
import type { RateChange, RateStore, StartAnswer, StartRequest, StoredRate } from "./rate_store.ts";

export class MemoryRates implements RateStore {
  readonly #rates = new MemoryData<MemoryRate>();

  // deno-lint-ignore require-await
  async start({ spec, starts, within }: StartRequest): Promise<StartAnswer> {
    return this.#of(spec).start(starts, within);
  }

  // deno-lint-ignore require-await
  async again({ spec, starts }: StartRequest, turn: number): Promise<StartAnswer> {
    return this.#of(spec, turn).again(starts, turn);
  }

  // deno-lint-ignore require-await
  async giveBack({ spec, starts }: StartRequest, turn: number): Promise<void> {
    this.#of(spec).giveBack(starts, turn);
  }

  // deno-lint-ignore require-await
  async change(spec: StoredRate, change: RateChange): Promise<void> {
    this.#of(spec).change(change);
  }

  #of({ keys, budgets }: StoredRate, turn?: number): MemoryRate {
    return this.#rates.of(keys[0], () => new MemoryRate()).advance(budgets, turn);
  }
}
