/** What run-times may lack, by name: each function takes it from this process. */

/** As React Native and older polyfills have it: no reason, and none of the newer methods. */
function oldSignals(): void {
  class OldSignal {
    aborted = false;
    readonly #listeners = new Set<() => void>();
    addEventListener(_: string, listener: () => void): void {
      this.#listeners.add(listener);
    }
    removeEventListener(_: string, listener: () => void): void {
      this.#listeners.delete(listener);
    }
    notify(): void {
      if (this.aborted) return;
      this.aborted = true;
      for (const listener of [...this.#listeners]) listener();
    }
  }
  class OldController {
    readonly signal = new OldSignal();
    abort(): void {
      this.signal.notify();
    }
  }
  Object.assign(globalThis, { AbortSignal: OldSignal, AbortController: OldController });
}

function without(...names: string[]): () => void {
  return () => {
    for (const name of names) Object.defineProperty(globalThis, name, { value: undefined, configurable: true });
  };
}

export const taken: Readonly<Record<string, () => void>> = {
  "nothing": () => {},
  "new members of signals": oldSignals,
  "new members of signals, and DOMException": () => {
    oldSignals();
    without("DOMException")();
  },
  "SharedArrayBuffer and Atomics": without("SharedArrayBuffer", "Atomics"),
  "crypto": without("crypto"),
  "TextEncoder and TextDecoder": without("TextEncoder", "TextDecoder"),
  "process, but for env": () => Object.defineProperty(globalThis, "process", { value: { env: {} } }),
  "process": without("process"),
  "what is newer than ES2019": () => void delete (String.prototype as { replaceAll?: unknown }).replaceAll,
};
