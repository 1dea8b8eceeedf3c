/**
 * Checks of arguments. Pure: every check throws before anything has changed, names the argument and quotes the
 * value; a wrong type is a TypeError, a wrong value of the right type is a RangeError.
 *
 * @module
 */
import { classOf, isNamed } from "./class_name.ts";
import type { MaxWaitingOptions, NameOptions, WaitOptions } from "../types.ts";

/**
 * Formats a value for an error message: short, on one line, and different for `"1"` and `1`. Never throws, as observers
 * quote keys.
 */
export function quote(value: unknown): string {
  try {
    if (typeof value === "string") return visible(JSON.stringify(cut(value)));
    if (typeof value === "function") return `function ${printable(value.name || "(anonymous)")}`;
    if (Object(value) === value) return `an object (${printable(classOf(value as object) || "no class")})`;
    return printable(typeof value === "bigint" ? `${value}n` : String(value)); // the only conversion that accepts a symbol
  } catch {
    return typeof value; // a proxy, or a name that is no text
  }
}

/** Formats the user's text, such as the name of a class, for a message, without quotes. */
export function printable(text: string): string {
  return visible(cut(text));
}

function cut(value: unknown): string {
  const text = `${value}`;
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}

/** Control, bidirectional and line-end characters, with which a name could forge or reorder a line of a log. */
const CONTROLS = /[\p{Cc}\p{Cs}\p{Bidi_C}\p{Zl}\p{Zp}]/gu;

/** Escapes these characters. */
export function visible(text: string): string {
  return text.replace(CONTROLS, (char) => `\\u${(0x10000 + char.charCodeAt(0)).toString(16).slice(1)}`);
}

/** `acquire lock "orders"`, or `acquire lock` without a name. */
export function withName(operation: string, name: string | undefined): string {
  return name === undefined ? operation : `${operation} ${quote(name)}`;
}

/** Throws unless the rule `holds`. The rule is worded to follow "must"; the remedy follows the value. */
export function must(
  holds: boolean,
  name: string,
  rule: string,
  value: unknown,
  ErrorClass: new (message: string) => Error = TypeError,
  remedy = "",
): asserts holds {
  if (!holds) throw new ErrorClass(`${name} must ${rule}, got ${quote(value)}${remedy}`);
}

/** Requires a thing of this copy of the module: another copy has a state of its own. */
export function checkCopy(isOwn: boolean, value: unknown, name: string): void {
  must(isOwn, name, "be of the same copy of this module: there are two copies", value);
}

/** Requires an instance of this copy's class of that name. */
export function checkInstance(isOwn: boolean, value: unknown, name: string, className: string, remedy = ""): void {
  checkCopy(isOwn || !isNamed(value, className), value, name);
  must(isOwn, name, `be a ${className}${remedy}`, value);
}

/** Milliseconds to wait: any number from 0 up, `Infinity` included. */
export function checkTimeout(value: unknown, name = "timeout"): asserts value is number {
  must(typeof value === "number", name, "be a number of milliseconds", value);
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
  must(false, name, max === min ? `be ${min}` : `be a whole number ${range}`, value, RangeError);
}

/** A whole number from `min` up, or Infinity. */
export function checkCount(value: unknown, name: string, min: number): asserts value is number {
  checkNumber(value, name);
  const isCount = value === Infinity || (Number.isSafeInteger(value) && value >= min);
  must(isCount, name, `be a whole number of ${min} or more, or Infinity`, value, RangeError);
}

/** Any number, NaN included. */
export function checkNumber(value: unknown, name: string): asserts value is number {
  must(typeof value === "number", name, "be a number", value);
}

/** Requires that `release` was called on its object, which `promise.finally(guard.release)` has lost. */
export function checkOwn(value: unknown, Class: abstract new (...args: never) => unknown): void {
  must(value instanceof Class, "release", "be called as () => guard.release()", value);
}

/** A function that does its work when it is called, so not a generator function. */
export function checkFunction(value: unknown, name = "fn"): void {
  const remedy = name === "fn" ? ", such as () => work(), before any options" : "";
  must(typeof value === "function", name, `be a function${remedy}`, value);
  const isGenerator = (value as Partial<GeneratorFunction>)[Symbol.toStringTag]?.includes("Generator");
  must(!isGenerator, name, "not be a generator function: calling it runs nothing", value);
}

/** A key. If a caller forgets it, the next argument, such as a function, takes its place. */
export function checkKey(value: unknown): void {
  const isKey = value !== undefined && typeof value !== "function";
  must(isKey, "key", "be neither undefined nor a function: the key comes first", value);
}

/** A value, not a promise of it. */
export function checkNotPromise(value: unknown, name: string): void {
  must(!isThenable(value), name, "not be a promise: await it first", value);
}

/** An array, not a promise of one. */
export function checkArray(value: unknown, name: string, rule: string): asserts value is readonly unknown[] {
  checkNotPromise(value, name);
  must(Array.isArray(value), name, rule, value);
}

/** Text that may be empty. */
export function checkString(value: unknown, name: string): asserts value is string {
  must(typeof value === "string", name, "be a string", value);
}

/** Text that is not empty. */
export function checkName(value: unknown, name = "name"): asserts value is string {
  checkString(value, name);
  must(value !== "", name, "not be empty", value, RangeError);
}

/** A boolean. */
export function checkBoolean(value: unknown, name: string): asserts value is boolean {
  must(typeof value === "boolean", name, "be a boolean", value);
}

/** Returns the options, or an empty object if there are none. The `example` for messages is one of them. */
export function checkOptions<T extends object>(options: T = {} as T, example: string & keyof T): Partial<T> {
  const rule = `be an object such as { ${example} }`;
  must(typeof options === "object" && options !== null, "options", rule, options);
  // Otherwise it would pass for empty options.
  must((options as Partial<AbortSignal>).aborted === undefined, "options", "not be a signal: pass { signal }", options);
  return options;
}

/** The name in a constructor's options, read once; undefined if there is none. */
export function readName(options: NameOptions | undefined): string | undefined {
  const { name } = checkOptions(options, "name");
  if (name !== undefined) checkString(name, "name");
  return name;
}

/** The checked constructor options of a primitive with a queue. */
export interface QueueOptions {
  readonly name: string | undefined;
  readonly maxWaiting: number;
}

export function readQueueOptions(options: MaxWaitingOptions | undefined): QueueOptions {
  const name = readName(options);
  const { maxWaiting = Infinity } = options ?? {};
  checkCount(maxWaiting, "maxWaiting", 0);
  return { name, maxWaiting };
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
  if (options === undefined && defaultTimeout === Infinity) return undefined;
  const { signal, timeout = defaultTimeout } = checkOptions(options, "timeout");
  checkTimeout(timeout);
  if (signal !== undefined) checkSignal(signal);
  return signal === undefined && timeout === Infinity ? undefined : { signal, timeout };
}

/** By structure, so that signals of another realm or of a polyfill pass. */
export function checkSignal(value: unknown): asserts value is AbortSignal {
  const { aborted, addEventListener, removeEventListener } = (value ?? {}) as Partial<AbortSignal>;
  const isSignal = typeof aborted === "boolean" && typeof addEventListener === "function" &&
    typeof removeEventListener === "function";
  must(isSignal, "signal", "be an AbortSignal, such as controller.signal", value);
}

/** An object that may be closed for good. */
interface Closable<T> {
  /** Throws if closed; the message names the target of the call. */
  checkOpen(target: T): void;
}

/** Reads the limits of a call. Throws for bad options, then if the target is closed, then for an aborted signal. */
export function admit<T>(options: WaitOptions | undefined, of?: Closable<T>, target?: T): WaitLimits | undefined {
  const limits = readWaitOptions(options);
  of?.checkOpen(target!);
  throwIfAborted(limits);
  return limits;
}

/** Throws the signal's reason if it is aborted. */
export function throwIfAborted(limits: Pick<WaitOptions, "signal"> | undefined): void {
  if (limits?.signal?.aborted) throw reasonOf(limits.signal);
}

/** The signal's reason; an AbortError if it has none, as in older polyfills. */
export function reasonOf({ reason = abortError() }: AbortSignal): unknown {
  return reason;
}

/** The reason of an abort without one. Hermes has no DOMException. */
export function abortError(): Error {
  const message = "This operation was aborted";
  if (typeof DOMException === "function") return new DOMException(message, "AbortError");
  return Object.assign(new Error(message), { name: "AbortError" });
}

/**
 * Calls `fn` and turns a synchronous error into a rejection: a method that returns a promise never throws
 * synchronously.
 */
export function promiseTry<T>(fn: () => Promise<T>): Promise<T> {
  try {
    return fn();
  } catch (error) {
    return Promise.reject(error);
  }
}

/** Whether the value has to be awaited. */
export function isThenable<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  return typeof (value as PromiseLike<T> | null | undefined)?.then === "function";
}
