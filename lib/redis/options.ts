/**
 * Options of everything over Redis, and how keys are named. Invariant: two different (prefix, kind, name) never give
 * the same key, and all keys of one name share one hash tag, hence one cluster slot.
 *
 * @module
 */
import { checkBoolean, checkInteger, checkOptions, checkString, must } from "../internal/check.ts";
import type { Backend } from "./clients/backend.ts";

/** Options that every class over Redis takes. */
export interface RedisOptions {
  /**
   * Milliseconds that a lease lasts unless it is renewed: how long others wait after a holder has crashed.
   * 10 or more; 30,000 unless said.
   */
  readonly ttl?: number | undefined;
  /** Whether leases are renewed by themselves, each third of the `ttl`, for as long as they are held. True unless said. */
  readonly renew?: boolean | undefined;
  /** What the keys in Redis start with; no braces. "interlock:" unless said. */
  readonly prefix?: string | undefined;
  /** Milliseconds that the keys of a name are kept after the last hold ended. 600,000 (ten minutes) unless said. */
  readonly retention?: number | undefined;
}

/** The kinds of keys. None is the end of another, so that no prefix can make two of them the same. */
export type Kind = "lock" | "semaphore" | "keyed" | "rw";

/** Checked options. Internal. */
export interface Settings {
  readonly ttl: number;
  readonly renew: boolean;
  readonly prefix: string;
  readonly retention: number;
}

/** The longest time that a timer can hold. */
const MAX_MS = 2 ** 31 - 1;

/** Shorter leases would be over before the answer is back. */
const MIN_TTL = 10;

export function settingsOf(options: RedisOptions | undefined): Settings {
  checkOptions(options);
  const { ttl = 30_000, renew = true, prefix = "interlock:", retention = 600_000 } = options ?? {};
  checkTtl(ttl);
  checkInteger(retention, "retention", 0, MAX_MS);
  checkBoolean(renew, "renew");
  checkString(prefix, "prefix");
  // A brace would move the hash tag, and the keys of one name to different cluster slots.
  must(!/[{}]/.test(prefix), "prefix", "not contain braces", prefix, RangeError);
  return { ttl, renew, prefix, retention };
}

export function checkTtl(ttl: unknown): asserts ttl is number {
  checkInteger(ttl, "ttl", MIN_TTL, MAX_MS);
}

export function checkBackend(backend: unknown): asserts backend is Backend {
  const { evalsha, eval: evaluate } = (backend ?? {}) as Partial<Backend>;
  const known = typeof evalsha === "function" && typeof evaluate === "function";
  must(known, "backend", "be a Backend, such as nodeRedis(client)", backend);
}

/** The keys of one name: its state, its waiters in order of arrival, and what is known of each waiter. */
export type Keys = readonly [state: string, order: string, waiters: string];

export function keysOf(prefix: string, kind: Kind, name: string): Keys {
  const state = `${prefix}${kind}:{${escapeName(name)}}`;
  return [state, `${state}:order`, `${state}:waiters`];
}

/**
 * Only what would be ambiguous or unreadable in a key is escaped: the escape itself, braces, white space, control
 * characters, and halves of surrogate pairs, which have no UTF-8 and would all become one replacement character.
 */
function escapeName(name: string): string {
  return name.replace(/[%{}\s\p{C}]/gu, (char) => {
    const hex = (char.codePointAt(0) ?? 0).toString(16);
    return `%${hex}.`;
  });
}
