/**
 * Wraps a function so that each call has a key. The key names the function and spells out the selected arguments, so
 * that different arguments never have the same key.
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
  promiseTry,
} from "../internal/check.ts";
import { copySignature } from "../internal/wrap.ts";
import type { NameOptions, WaitOptions } from "../types.ts";

/** An argument that can be part of a key. */
export type KeyPart = string | number | bigint | boolean | null | undefined;

/** Which arguments make the key: their positions, or a function that makes it from all of them. */
export type Select<A extends readonly unknown[]> =
  | readonly number[]
  | ((...args: A) => KeyPart | readonly KeyPart[]);

/** The options of both wrappers. */
export type OnArgumentsOptions = NameOptions & Pick<WaitOptions, "timeout">;

/**
 * A wrapper for functions that take at least the arguments `A`, and a standard decorator for methods that return a
 * promise.
 */
export type LockedOnArguments<A extends readonly unknown[]> = <This, B extends [...A, ...unknown[]], R>(
  fn: (this: This, ...args: B) => R,
  context?: ClassMethodDecoratorContext<This, (this: This, ...args: B) => R>,
) => (this: This, ...args: B) => Promise<Awaited<R>>;

/** Calls `fn` under `key`. */
type CallWithKey = <T>(key: string, fn: () => T | PromiseLike<T>, options: WaitOptions) => Promise<T>;

/** Checks the selection and the options, and returns the options, read once. */
export function checkOnArguments(select: unknown, options: OnArgumentsOptions): OnArgumentsOptions {
  // A hole is checked like undefined.
  if (Array.isArray(select)) Array.from(select, (position, i) => checkInteger(position, `select[${i}]`, 0));
  else {
    must(typeof select === "function", "select", "be an array of positions or a function", select);
    checkFunction(select, "select"); // not a generator function
  }
  const { name, timeout } = checkOptions(options, "name");
  if (name !== undefined) checkName(name);
  if (timeout !== undefined) checkTimeout(timeout);
  return { name, timeout };
}

/** @param decorator The name of the wrapper, for messages. */
export function onArguments<A extends readonly unknown[]>(
  decorator: string,
  select: Select<A>,
  { name, timeout }: OnArgumentsOptions,
  call: CallWithKey,
): LockedOnArguments<A> {
  const partsOf = typeof select === "function" ? select : argumentsAt([...select]);
  return <This, B extends [...A, ...unknown[]], R>(fn: (this: This, ...args: B) => R, context?: unknown) => {
    checkDecorated(decorator, fn, context);
    const identity = name === undefined ? `function ${++functions}` : `name ${name}`;
    const wrapped = function (this: This, ...args: B): Promise<Awaited<R>> {
      return promiseTry(() => {
        const parts: KeyPart | readonly KeyPart[] = Reflect.apply(partsOf, undefined, args);
        const key = keyText(identity, Array.isArray(parts) ? parts : [parts], typeof select === "function");
        return call(key, () => fn.apply(this, args) as Awaited<R>, { timeout });
      });
    };
    return copySignature(fn, wrapped);
  };
}

/** The number of wrapped functions without a name so far: each gets its own number. */
let functions = 0;

/** Throws unless `fn` can be wrapped or decorated: it must do its work when it is called. */
function checkDecorated(decorator: string, fn: unknown, context: unknown): void {
  const isStandard = context === undefined || (typeof context === "object" && context !== null);
  must(isStandard, decorator, "be applied as a standard decorator (switch experimentalDecorators off)", context);
  checkFunction(fn);
  const kind = (context as Partial<DecoratorContext> | undefined)?.kind ?? "method";
  must(kind === "method", decorator, "decorate a method", kind);
}

/** Makes the key from the arguments at these positions. */
function argumentsAt(positions: readonly number[]): (...args: unknown[]) => KeyPart[] {
  return (...args) => positions.map((position) => args[position] as KeyPart);
}

/** JSON of strings that begin with their type, so that different parts never share a spelling. */
function keyText(identity: string, parts: readonly KeyPart[], areFromFunction: boolean): string {
  return JSON.stringify([identity, ...parts.map((part, index) => partText(part, index, areFromFunction))]);
}

/** @param isFromFunction Whether a key function made the part. */
function partText(part: unknown, index: number, isFromFunction: boolean): string {
  if (part === null) return "null";
  if (typeof part === "object" || typeof part === "function" || typeof part === "symbol") {
    const what = isFromFunction ? "the key that select returns" : `selected argument ${index}`;
    const remedy = isFromFunction ? "" : " (or pass a key function as select)";
    must(false, what, `be a string, number, bigint, boolean, null or undefined${remedy}`, part);
  }
  return `${typeof part} ${part}`;
}
