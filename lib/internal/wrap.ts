/**
 * Wraps functions so that each call goes through `run`.
 *
 * @module
 */
import { checkFunction } from "./check.ts";

/** A function with the parameters and `this` of the wrapped function. */
export type Wrapped<This, A extends unknown[], R> = (this: This, ...args: A) => Promise<Awaited<R>>;

/** @param run Calls its argument once, when it is granted, and passes on the result. */
export function wrapFunction<This, A extends unknown[], R>(
  fn: (this: This, ...args: A) => R,
  run: (call: () => Awaited<R>) => Promise<Awaited<R>>,
): Wrapped<This, A, R> {
  checkFunction(fn);
  return copySignature(fn, function (this: This, ...args: A) {
    return run(() => Reflect.apply(fn, this, args) as Awaited<R>);
  });
}

/** Gives a wrapper the name and length of its function. */
export function copySignature<F extends object>(fn: { readonly name: string; readonly length: number }, wrapper: F): F {
  for (const key of ["name", "length"] as const) {
    Object.defineProperty(wrapper, key, { value: fn[key], configurable: true });
  }
  return wrapper;
}
