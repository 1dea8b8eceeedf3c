/** A lock manager for run-times without one: the part of the Web Locks API that is used, with `steal`, in one thread. */
import type { WebLockManager, WebLockMode } from "../../lib/web/mod.ts";

interface Held {
  readonly mode: WebLockMode;
  readonly steal: () => void;
}

interface Pending {
  readonly mode: WebLockMode;
  readonly grant: () => void;
}

interface RequestOptions {
  readonly mode?: WebLockMode;
  readonly ifAvailable?: boolean;
  readonly steal?: boolean;
  readonly signal?: AbortSignal;
}

type Callback = (lock: unknown) => Promise<unknown> | unknown;

interface State {
  readonly held: Set<Held>;
  readonly pending: Set<Pending>;
}

export class OwnLockManager implements WebLockManager {
  readonly #states = new Map<string, State>();

  request(name: string, options: RequestOptions, callback: Callback): Promise<unknown> {
    const { mode = "exclusive", ifAvailable, steal, signal } = options;
    const state = this.#state(name);
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const hold = async () => {
        const held: Held = {
          mode,
          steal: () => {
            state.held.delete(held);
            reject(new DOMException("stolen", "AbortError"));
          },
        };
        state.held.add(held);
        try {
          await null; // a task of its own
          resolve(await callback({ name, mode }));
        } catch (error) {
          reject(error);
        }
        if (state.held.delete(held)) this.#serve(state);
      };
      if (steal) {
        for (const held of state.held) held.steal();
        return void hold();
      }
      if (state.pending.size === 0 && fits(state, mode)) return void hold();
      if (ifAvailable) return resolve(Promise.resolve().then(() => callback(null)));
      const pending: Pending = { mode, grant: hold };
      state.pending.add(pending);
      signal?.addEventListener("abort", () => {
        if (!state.pending.delete(pending)) return;
        reject(signal.reason);
        this.#serve(state);
      });
    });
  }

  query(): Promise<{ pending: { name: string }[] }> {
    const pending = [...this.#states].flatMap(([name, state]) => [...state.pending].map(() => ({ name })));
    return Promise.resolve().then(() => Promise.resolve()).then(() => Promise.resolve({ pending }));
  }

  #state(name: string): State {
    let state = this.#states.get(name);
    if (state === undefined) this.#states.set(name, state = { held: new Set(), pending: new Set() });
    return state;
  }

  #serve(state: State): void {
    for (const pending of state.pending) {
      if (!fits(state, pending.mode)) return;
      state.pending.delete(pending);
      pending.grant();
    }
  }
}

function fits({ held }: State, mode: WebLockMode): boolean {
  return held.size === 0 || (mode === "shared" && [...held].every((one) => one.mode === "shared"));
}
