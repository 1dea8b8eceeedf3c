/**
 * The store in this process. Every request runs at once, in the caller's turn. Its answer and messages come in later
 * microtasks, as from a server. A name notifies its waiters itself, and a timer ends leases, so that no waiter has to be
 * woken. No request fails.
 *
 * @module
 */
import { exposeState } from "../../internal/state.ts";
import type { Inspection } from "../inspect.ts";
import { MemoryData } from "./memory_data.ts";
import { MemoryName } from "./memory_name.ts";
import { Ids } from "./ids.ts";
import { MemoryRates } from "../rate/memory_rates.ts";
import type { AcquireAnswer, AcquireRequest, Renewal, Renewed, Store, StoredName, Was } from "./store.ts";

export class MemoryStore implements Store {
  readonly backend: Store["backend"] = {};
  readonly ids: Ids = new Ids();
  readonly #names = new MemoryData<MemoryName>();
  readonly rates = new MemoryRates();

  static {
    exposeState(MemoryStore, (store) => store.#names);
  }

  // deno-lint-ignore require-await
  async acquire(request: AcquireRequest): Promise<AcquireAnswer> {
    const name = this.#nameOf(request.spec);
    return request.adopts === undefined ? name.acquire(request) : name.adopt(request);
  }

  // deno-lint-ignore require-await
  async release(spec: StoredName, id: string): Promise<Was> {
    return this.#nameOf(spec).release(id);
  }

  // deno-lint-ignore require-await
  async releaseAll(spec: StoredName): Promise<boolean> {
    return this.#nameOf(spec).releaseAll();
  }

  // deno-lint-ignore require-await
  async renew(holds: readonly Renewal[]): Promise<Renewed[]> {
    return holds.map((hold) => this.#nameOf(hold.spec).renew(hold));
  }

  // deno-lint-ignore require-await
  async verify(spec: StoredName, id: string): Promise<number> {
    return this.#nameOf(spec).restOf(id);
  }

  // deno-lint-ignore require-await
  async inspect(spec: StoredName): Promise<Inspection> {
    return this.#nameOf(spec).inspect();
  }

  #nameOf({ keys: [key] }: StoredName): MemoryName {
    return this.#names.of(key, () => new MemoryName());
  }
}
