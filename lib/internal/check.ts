/**
 * Checks of arguments. Pure: every check throws before anything has changed, names the argument and quotes the
 * value; a wrong type is a TypeError, a wrong value of the right type is a RangeError.
 *
 * @module
 */
import type { NameOptions, WaitOptions } from "../types.ts";

/** The value as an error message shows it: short, on one line, and different for `"1"` and `1`. Never throws. */
export function quote(value: unknown): string {
  try {
    return spelt(value);
  } catch {
    return typeof value === "function" ? "a function" : "an object"; // a proxy, or a name that is no text
  }
}

function spelt(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(cut(value));
  if (typeof value === "bigint") return cut(`${value}n`);
  if (typeof value === "function") return `function ${value.name || "(anonymous)"}`;
  if (typeof value === "object" && value !== null) return `an object (${value.constructor?.name || "no class"})`;
  return cut(String(value));
}

function cut(text: string): string {
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}

/** `acquire lock "orders"`, or `acquire lock` without a name. */
export function named(operation: string, name: string | undefined): string {
  return name === undefined ? operation : `${operation} ${quote(name)}`;
}

/** Throws unless it `holds` that the argument obeys the rule, which reads on from "must". */
export function must(
  holds: boolean,
  name: string,
  rule: string,
  value: unknown,
  Wrong: new (message: string) => Error = TypeError,
): asserts holds {
  if (!holds) throw new Wrong(`${name} must ${rule}, got ${quote(value)}`);
}

/** Milliseconds to wait: any number from 0 up, `Infinity` included. */
export function checkTimeout(value: unknown, name = "timeout"): asserts value is number {
  checkNumber(value, name);
  must(value >= 0, name, "be 0 or more milliseconds", value, RangeError); // NaN is not
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
  must(false, name, `be a whole number ${range}`, value, RangeError);
}

/** Any number, NaN included. */
export function checkNumber(value: unknown, name: string): asserts value is number {
  must(typeof value === "number", name, "be a number", value);
}

/** Something that can be called. */
export function checkFunction(value: unknown, name: string): void {
  must(typeof value === "function", name, "be a function", value);
}

/** Text that may be empty. */
export function checkString(value: unknown, name: string): asserts value is string {
  must(typeof value === "string", name, "be a string", value);
}

/** Text that says something. */
export function checkName(value: unknown, name = "name"): asserts value is string {
  checkString(value, name);
  must(value !== "", name, "not be empty", value, RangeError);
}

/** Yes or no. */
export function checkBoolean(value: unknown, name: string): asserts value is boolean {
  must(typeof value === "boolean", name, "be a boolean", value);
}

/** An options object, or none. */
export function checkOptions(options: unknown): void {
  if (options === undefined) return;
  must(typeof options === "object" && options !== null, "options", "be an object", options);
  must(!("aborted" in options), "options", "not be a signal itself", options); // it would pass for options that say nothing
}

/** The name in the options of a constructor, read once; undefined if there is none. */
export function readName(options: NameOptions | undefined): string | undefined {
  checkOptions(options);
  const { name } = options ?? {};
  if (name !== undefined) checkString(name, "name");
  return name;
}

/** The wait options of one call, read once and checked. */
export interface WaitLimits {
  readonly signal: AbortSignal | undefined;
  /** Milliseconds; Infinity without a time-out. */
  readonly timeout: number;
}

/**
 * Reads both members of {@linkcode WaitOptions}, each once: changing the object later has no effect.
 *
 * @returns Undefined if nothing limits the wait.
 */
export function readWaitOptions(options: WaitOptions | undefined, defaultTimeout = Infinity): WaitLimits | undefined {
  checkOptions(options);
  const { signal, timeout = defaultTimeout } = options ?? {};
  checkTimeout(timeout);
  if (signal !== undefined) checkSignal(signal);
  return signal === undefined && timeout === Infinity ? undefined : { signal, timeout };
}

/** Checks {@linkcode WaitOptions} that are read elsewhere. */
export function checkWaitOptions(options: WaitOptions | undefined): void {
  readWaitOptions(options);
}

/** By structure, so that signals of another realm or of a polyfill pass. */
export function checkSignal(value: unknown, name = "signal"): asserts value is AbortSignal {
  const { aborted, addEventListener, removeEventListener } = (value ?? {}) as Partial<AbortSignal>;
  const isSignal = typeof aborted === "boolean" && typeof addEventListener === "function" &&
    typeof removeEventListener === "function";
  must(isSignal, name, "be an AbortSignal", value);
}

/** The limits of a call that has no state to check before its signal. Throws for bad options or an aborted signal. */
export function admit(options: WaitOptions | undefined): WaitLimits | undefined {
  const limits = readWaitOptions(options);
  throwIfAborted(limits);
  return limits;
}

/** Throws the reason of a signal that is aborted. */
export function throwIfAborted(limits: Pick<WaitOptions, "signal"> | undefined): void {
  if (limits?.signal?.aborted) throw limits.signal.reason;
}

/** Calls `fn`, and turns what it throws into a rejection: a method that returns a promise never throws synchronously. */
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
