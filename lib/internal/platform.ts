/**
 * The only access to the platform's `process`, which browsers lack and bundlers replace by a partial one. Invariant: it
 * is looked up at each call, every member may be missing, and no import would fail in a browser.
 *
 * @module
 */

/** The members common to Deno, Node and Bun. */
interface PlatformProcess {
  readonly versions: { readonly node?: string; readonly deno?: string; readonly bun?: string };
  /** Whether a parent process is still connected by IPC. */
  readonly connected: boolean;
  on(event: string, listener: () => void): unknown;
  off(event: string, listener: () => void): unknown;
  listeners(event: string): unknown[];
  emitWarning(message: string, options: { code: string }): void;
  nextTick(fn: () => void): void;
  /** The CPU time of the process so far, in microseconds. */
  cpuUsage(): { readonly user: number; readonly system: number };
  getActiveResourcesInfo(): string[];
  getBuiltinModule(id: string): unknown;
}

/** The process; undefined in a browser. */
export function currentProcess(): Partial<PlatformProcess> | undefined {
  return (globalThis as { process?: Partial<PlatformProcess> }).process;
}

/** The name of the run-time. Deno and Bun set `versions.node` too. */
export function runtime(): "deno" | "bun" | "node" | undefined {
  const versions = currentProcess()?.versions;
  return (["deno", "bun", "node"] as const).find((name) => versions?.[name] !== undefined);
}

/**
 * Whether a timer ends with the request that set it, as in Cloudflare's workerd (2026-04). There, calls cannot share a
 * timer or depend on a timer of another request.
 */
export const timersEndWithRequest: boolean =
  /* @__PURE__ */ (() =>
    (globalThis as { navigator?: { userAgent?: string } }).navigator?.userAgent === "Cloudflare-Workers")();

/** Emits a process warning if there is a process. */
export function warn(message: string, code: string): void {
  currentProcess()?.emitWarning?.(message, { code });
}

/** Resolves when earlier warnings have been printed, which happens in the process's next tick. */
export function warningsPrinted(): Promise<void> {
  const process = currentProcess();
  return new Promise((resolve) => process?.nextTick === undefined ? resolve() : process.nextTick(resolve));
}

/** A built-in module; undefined in a browser and in Node before 20.16. */
export function builtin<T>(id: string): T | undefined {
  return currentProcess()?.getBuiltinModule?.(`node:${id}`) as T | undefined;
}

/**
 * Calls `fn` after `ms` without keeping the process alive. It uses no timer, because a test may replace timers or
 * report them as leaks.
 */
export function ifStillAlive(ms: number, fn: () => void): void {
  type WaitAsync = (cell: Int32Array, index: number, value: number, ms: number) => { value: PromiseLike<unknown> };
  const { Atomics, SharedArrayBuffer } = globalThis as { Atomics?: { waitAsync?: WaitAsync } } & typeof globalThis;
  if (currentProcess() === undefined || Atomics?.waitAsync === undefined || SharedArrayBuffer === undefined) return;
  // The cell stays 0, so the wait lasts for `ms`.
  void Atomics.waitAsync(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms).value.then(fn);
}

interface Events {
  setMaxListeners?(count: number, target: AbortSignal): void;
}

/** Looked up once, on first use: a look-up takes 0.9 µs in Deno 2.9.6, as long as a call of `pool.run`. */
let events: Events | undefined;

/**
 * Creates a controller whose signal is passed to functions of the user, without Node 20's leak warning from the
 * eleventh listener on.
 */
export function sharedController(): AbortController {
  const controller = new AbortController();
  try {
    (events ??= builtin<Events>("events") ?? {}).setMaxListeners?.(0, controller.signal);
  } catch { /* a signal of another realm (jsdom), whose listeners Node does not count */ }
  return controller;
}

/** Throws the error as an uncaught one, as the platform does with errors of event listeners. */
export function throwUncaught(error: unknown): void {
  queueMicrotask(() => {
    throw error;
  });
}
