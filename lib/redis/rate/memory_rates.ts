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
    return this.#rateOf(spec).start(starts, within);
  }

  // deno-lint-ignore require-await
  async askAgain({ spec, starts }: StartRequest, number: number): Promise<StartAnswer> {
    return this.#rateOf(spec, number).askAgain(starts, number);
  }

  // deno-lint-ignore require-await
  async giveBack({ spec, starts }: StartRequest, number: number): Promise<void> {
    this.#rateOf(spec).giveBack(starts, number);
  }

  // deno-lint-ignore require-await
  async change(spec: StoredRate, change: RateChange): Promise<void> {
    this.#rateOf(spec).change(change);
  }

  #rateOf({ keys, budgets }: StoredRate, number?: number): MemoryRate {
    return this.#rates.of(keys[0], () => new MemoryRate()).advance(budgets, number);
  }
}
