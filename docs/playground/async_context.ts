/**
 * A stand-in for Node's AsyncLocalStorage, which browsers lack: the library asks it which `run` a call is part of. Its
 * context ends at the first `await`, and code that goes on behind one takes it along by `carried`.
 */

/** The context of the present code, for the one storage that the library makes. */
let present: unknown;

class AsyncLocalStorage {
  getStore(): unknown {
    return present;
  }

  run<T>(context: unknown, fn: () => T): T {
    const before = present;
    present = context;
    try {
      return fn();
    } finally {
      present = before;
    }
  }
}

/** Makes the library find it where Node has it. Call it before the first `run`. */
export function provideAsyncContext(): void {
  const getBuiltinModule = (id: string) => id === "node:async_hooks" ? { AsyncLocalStorage } : undefined;
  Object.assign(globalThis, { process: { getBuiltinModule } });
}

/** Returns a function that calls `fn` in the context of this moment. */
export function carried<T>(fn: () => T): () => T {
  const context = present;
  return () => new AsyncLocalStorage().run(context, fn);
}
