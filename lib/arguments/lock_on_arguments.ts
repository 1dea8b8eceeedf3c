/**
 * Calls with equal arguments run one at a time. The key of a call names its function and spells out the selected
 * arguments so that different ones never have the same key.
 *
 * @module
 */
import {
  checkFunction,
  checkInteger,
  checkName,
  checkOptions,
  checkTimeout,
  must,
  promised,
  quote,
} from "../internal/check.ts";
import { type Decorated, MethodClass } from "./method_class.ts";
import { KeyedMutex } from "../keyed_mutex.ts";
import type { WaitOptions } from "../types.ts";

/** The part of a mutex that {@linkcode lockOnArguments} uses. KeyedMutex and RedisKeyedMutex have it. */
export interface ArgumentMutex {
  /** Calls `fn` while holding `key`. */
  run<T>(key: string, fn: () => T | PromiseLike<T>, options?: WaitOptions): Promise<T>;
}

/** An argument that can be part of a key. */
export type KeyPart = string | number | bigint | boolean | null | undefined;

/** Options of {@linkcode lockOnArguments}. */
export interface LockOnArgumentsOptions {
  /** Functions with the same name share their keys. Without it, only calls of the same function do. */
  readonly name?: string | undefined;
  /** Milliseconds after which a waiting call rejects with a {@linkcode TimeoutError}. */
  readonly timeout?: number | undefined;
}

/**
 * A wrapper for functions that take at least the arguments `A`, and a standard decorator for methods that return a
 * promise.
 */
export type LockedOnArguments<A extends readonly unknown[]> = <This, B extends [...A, ...unknown[]], R>(
  fn: (this: This, ...args: B) => R,
  context?: ClassMethodDecoratorContext<This, (this: This, ...args: B) => R>,
) => (this: This, ...args: B) => Promise<Awaited<R>>;

/**
 * Makes calls of a function with equal selected arguments run one at a time; others run freely. A wrapper for functions
 * and, as a standard decorator, for methods.
 *
 * With a {@linkcode KeyedMutex}, two functions never share keys unless both are given the same `name`. With a mutex
 * across machines the function's name (Class.method for a method) or the given `name` is its identity everywhere. Give
 * a `name` there if a minifier may rename functions and classes.
 *
 * Not for caching or for dropping repeated calls: every call runs. Not re-entrant: a function that calls itself with the
 * same arguments deadlocks. Not for generator functions or legacy decorators (`experimentalDecorators`).
 *
 * **Fairness**: calls with equal arguments run in the order in which they were made.
 *
 * **Cancellation**: by `timeout` only; where a signal is needed, use the mutex itself.
 *
 * @param mutex Where the keys are held.
 * @param select Which arguments count: their positions from 0, or a function that makes the key from all of them.
 *   It distinguishes null, undefined, NaN, bigints, numbers, strings and booleans.
 * @param options The function's name and how long a call may wait.
 * @throws {TypeError} for arguments of a wrong type; for a generator function; when applied as a legacy decorator; for an
 *   anonymous function without a `name` on a mutex across machines; and, as the rejection of a call, when a selected
 *   argument is an object (pass a key function then) or, across machines and without a `name`, when the class of a
 *   method is anonymous or unknown.
 * @throws {RangeError} when a position is not a whole number from 0 up, `name` is empty or `timeout` is negative or NaN.
 * @example
 * ```ts
 * import { KeyedMutex, lockOnArguments } from "@interlock/interlock";
 *
 * let balance = 100;
 * const withdraw = lockOnArguments(new KeyedMutex<string>(), [0])(
 *   async (card: string, amount: number) => {
 *     const before = balance;
 *     await Promise.resolve();
 *     balance = before - amount;
 *   },
 * );
 * await Promise.all([withdraw("card 1", 10), withdraw("card 1", 20)]);
 * console.log(balance); // 70
 * ```
 */
export function lockOnArguments<A extends readonly unknown[] = []>(
  mutex: ArgumentMutex,
  select: readonly number[] | ((...args: A) => KeyPart | readonly KeyPart[]),
  options: LockOnArgumentsOptions = {},
): LockedOnArguments<A> {
  const { name, timeout } = checkArguments(mutex, select, options);
  const partsOf = typeof select === "function" ? select : pick([...select]);
  return <This, B extends [...A, ...unknown[]], R>(fn: (this: This, ...args: B) => R, context?: Decorated) => {
    checkDecorated(fn, context);
    const identify = identification(mutex, name, fn, context);
    const locked = function (this: This, ...args: B): Promise<Awaited<R>> {
      return promised(() => {
        const parts: KeyPart | readonly KeyPart[] = Reflect.apply(partsOf, undefined, args);
        const identity = identify(this, locked);
        const key = spell(identity, Array.isArray(parts) ? parts : [parts], typeof select === "function");
        return mutex.run(key, () => fn.apply(this, args) as Awaited<R>, { timeout });
      });
    };
    Object.defineProperty(locked, "name", { value: fn.name, configurable: true });
    Object.defineProperty(locked, "length", { value: fn.length, configurable: true });
    return locked;
  };
}

/** Returns the options, read once. */
function checkArguments(
  mutex: ArgumentMutex,
  select: unknown,
  options: LockOnArgumentsOptions,
): LockOnArgumentsOptions {
  const { run, acquire, at } = Object(mutex) as Partial<ArgumentMutex & { acquire: unknown; at: unknown }>;
  // A lock has no keys: it would take the key for the function.
  const hasKeys = typeof run === "function" && (acquire === undefined || at !== undefined);
  must(hasKeys, "mutex", "be a KeyedMutex or RedisKeyedMutex", mutex);
  // A hole is checked like undefined.
  if (Array.isArray(select)) Array.from(select, (position, i) => checkInteger(position, `select[${i}]`, 0));
  else must(typeof select === "function", "select", "be an array of positions or a function", select);
  checkOptions(options);
  const { name, timeout } = options;
  if (name !== undefined) checkName(name);
  if (timeout !== undefined) checkTimeout(timeout);
  return { name, timeout };
}

/** Only a function that does its work when it is called can be wrapped or decorated. */
function checkDecorated(fn: unknown, context: unknown): void {
  const isStandard = context === undefined || (typeof context === "object" && context !== null);
  must(
    isStandard,
    "lockOnArguments",
    "be applied as a standard decorator (switch experimentalDecorators off)",
    context,
  );
  checkFunction(fn, "fn");
  const isGenerator = /Generator/.test(Object.prototype.toString.call(fn));
  must(!isGenerator, "fn", "not be a generator function: calling it runs nothing yet", fn);
  const kind = (context as Decorated | undefined)?.kind ?? "method";
  must(kind === "method", "lockOnArguments", "decorate a method", kind);
}

function pick(positions: readonly number[]): (...args: unknown[]) => KeyPart[] {
  return (...args) => positions.map((position) => args[position] as KeyPart);
}

/** Finds the identity that calls must share to exclude each other: once where possible, else at each call of a method. */
function identification(
  mutex: ArgumentMutex,
  name: string | undefined,
  fn: { readonly name: string },
  context: Decorated | undefined,
): (self: unknown, locked: unknown) => string {
  if (name !== undefined) return () => `name ${name}`;
  if (mutex instanceof KeyedMutex) {
    const identity = `function ${++functions}`;
    return () => identity;
  }
  if (context !== undefined) return methodIdentification(context);
  if (fn.name === "") {
    throw new TypeError("fn must have a name or be given one in options.name: it identifies its calls everywhere");
  }
  return () => `name ${fn.name}`;
}

function methodIdentification(context: Decorated): (self: unknown, locked: unknown) => string {
  const owner = new MethodClass(context);
  const { name } = context;
  const method = typeof name === "symbol" ? `[${name.description}]` : name;
  return (self, locked) => {
    const className = owner.nameFor(self, locked);
    if (className !== undefined) return `name ${className}.${method}`;
    throw new TypeError(
      `method ${method} must be given a name in options.name: its class cannot be found from the object that it was called on`,
    );
  };
}

/** The number of functions that are identified by themselves. */
let functions = 0;

/** JSON of strings that begin with their type: no two lists of parts are spelled alike. */
function spell(identity: string, parts: readonly KeyPart[], areMade: boolean): string {
  return JSON.stringify([identity, ...parts.map((part, index) => spellPart(part, index, areMade))]);
}

/** @param isMade Whether a key function made it. */
function spellPart(part: unknown, index: number, isMade: boolean): string {
  if (part === null) return "null";
  if (typeof part === "object" || typeof part === "function" || typeof part === "symbol") {
    const rule = "must be a string, number, bigint, boolean, null or undefined";
    const got = typeof part === "symbol" ? "a symbol" : quote(part);
    throw new TypeError(
      isMade
        ? `the key that select returns ${rule}, got ${got}`
        : `selected argument ${index} ${rule}, got ${got}: pass a key function as select`,
    );
  }
  return `${typeof part} ${part}`;
}
