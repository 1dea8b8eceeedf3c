/**
 * What arguments have to be. Pure: every check throws before anything has changed, names the argument and quotes the
 * value; a wrong type is a TypeError, a wrong value of the right type is a RangeError.
 *
 * @module
 */
import type { WaitOptions } from "./types.ts";

/** The value as an error message shows it: short, on one line, and telling `"1"` from `1`. */
export function quote(value: unknown): string {
  if (typeof value === "string") {
    return JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}…` : value);
  }
  if (typeof value === "bigint") return `${value}n`;
  if (typeof value === "function") return `function ${value.name || "(anonymous)"}`;
  if (typeof value !== "object" || value === null) return Object.is(value, -0) ? "-0" : String(value);
  return Array.isArray(value) ? `an array of ${value.length}` : `an object (${className(value)})`;
}

function className(value: object): string {
  const maker = (value as { constructor?: unknown }).constructor;
  return typeof maker === "function" && maker.name !== "" ? maker.name : "no class";
}

/** Milliseconds to wait: any number from 0 up, `Infinity` included. */
export function checkTimeout(value: unknown, name = "timeout"): asserts value is number {
  checkNumber(value, name);
  // Written so that NaN fails too.
  if (!(value >= 0)) throw new RangeError(`${name} must be 0 or more milliseconds, got ${quote(value)}`);
}

/** A whole number from `min` to `max`. */
export function checkInteger(
  value: unknown,
  name: string,
  min: number,
  max: number = Number.MAX_SAFE_INTEGER,
): asserts value is number {
  checkNumber(value, name);
  if (Number.isSafeInteger(value) && value >= min && value <= max) return;
  const range = max === Number.MAX_SAFE_INTEGER ? `of ${min} or more` : `from ${min} to ${max}`;
  throw new RangeError(`${name} must be a whole number ${range}, got ${quote(value)}`);
}

function checkNumber(value: unknown, name: string): asserts value is number {
  if (typeof value !== "number") throw new TypeError(`${name} must be a number, got ${quote(value)}`);
}

/** Something that can be called. */
export function checkFunction(value: unknown, name: string): void {
  if (typeof value !== "function") throw new TypeError(`${name} must be a function, got ${quote(value)}`);
}

/** An options object, or none. */
export function checkOptions(options: unknown): void {
  if (options === undefined) return;
  if (typeof options !== "object" || options === null) {
    throw new TypeError(`options must be an object, got ${quote(options)}`);
  }
}

/** Both members of {@linkcode WaitOptions}. */
export function checkWaitOptions(options: WaitOptions | undefined): void {
  checkOptions(options);
  if (options?.timeout !== undefined) checkTimeout(options.timeout);
  if (options?.signal !== undefined) checkSignal(options.signal);
}

/** By structure, so that signals of another realm or of a polyfill pass. */
export function checkSignal(value: unknown, name = "signal"): asserts value is AbortSignal {
  const signal = value as Partial<AbortSignal> | null;
  const isSignal = typeof signal === "object" && signal !== null &&
    typeof signal.aborted === "boolean" && typeof signal.addEventListener === "function";
  if (!isSignal) throw new TypeError(`${name} must be an AbortSignal, got ${quote(value)}`);
}

/** Calls `fn` so that what it throws becomes a rejection: what returns a promise never throws synchronously. */
export function promised<T>(fn: () => Promise<T>): Promise<T> {
  try {
    return fn();
  } catch (error) {
    return Promise.reject(error);
  }
}

/** Whether it has to be awaited. */
export function isThenable<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  return typeof (value as PromiseLike<T> | null | undefined)?.then === "function";
}
