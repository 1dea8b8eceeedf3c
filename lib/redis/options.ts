/**
 * Options of everything over Redis, and the names of keys. Invariant: two different (prefix, kind, name) never give
 * the same key, and all keys of one name share one hash tag, hence one cluster slot.
 *
 * @module
 */
import { checkBoolean, checkInteger, checkName, checkOptions, checkString, must, option } from "../internal/check.ts";
import type { Backend } from "./clients/backend.ts";

/** Replicas that a grant waits for. */
export interface ReplicaOptions {
  /** How many replicas must have a grant before it counts, 1 or more. */
  readonly count: number;
  /** Milliseconds that one grant waits for them, 1 or more. Default: 1,000. */
  readonly timeout?: number | undefined;
}

/** Options of every class over Redis. They are read once, by the constructor. */
export interface RedisOptions {
  /**
   * Milliseconds that a lease lasts unless it is renewed: how long a crashed holder delays the next one. 10 or more.
   * Default: 30,000.
   */
  readonly ttl?: number | undefined;
  /** Whether leases are renewed while they are held, every third of the `ttl`. Default: true. */
  readonly renew?: boolean | undefined;
  /** The beginning of all keys in Redis; no braces, no lone surrogates. Default: "interlock:". */
  readonly prefix?: string | undefined;
  /** Milliseconds that the keys of a name are kept after the last hold ended. Default: 60,000. */
  readonly retention?: number | undefined;
  /** Labels this process in `inspect()`, 1 to 100 characters. Default: none. */
  readonly owner?: string | undefined;
  /**
   * Makes every grant wait (WAIT) until this number of replicas has it; a grant that they do not confirm is given back
   * and tried again within the call's time. A failover to a replica that missed the grant is then less likely, not
   * impossible. WAIT blocks the client's connection, so use a client of its own. Default: none.
   */
  readonly replicas?: ReplicaOptions | undefined;
}

/** The kinds of keys. None is the end of another, so that no prefix can make two of them the same. */
export type Kind = "lock" | "semaphore" | "keyed" | "rw" | "rate";

/** Checked options. Internal. */
export interface Settings {
  readonly ttl: number;
  readonly renew: boolean;
  readonly prefix: string;
  readonly retention: number;
  readonly owner: string | undefined;
  readonly replicas: { readonly count: number; readonly timeout: number } | undefined;
}

/** The longest time that a timer can hold. */
const MAX_MS = 2 ** 31 - 1;

/** Shorter leases would be over before the answer is back. */
const MIN_TTL = 10;

/** The beginning of all keys. */
export function prefixOf(options: { readonly prefix?: string | undefined } | undefined): string {
  checkOptions(options);
  const prefix = option(options, "prefix", "interlock:");
  checkString(prefix, "prefix");
  // A brace would move the hash tag, and the keys of one name to different cluster slots. Halves of surrogate pairs have no
  // UTF-8: prefixes that differ in them alone would be one in Redis.
  must(!/[{}\p{Cs}]/u.test(prefix), "prefix", "not contain braces or lone surrogates", prefix, RangeError);
  return prefix;
}

/** Checks the options and copies them. */
export function settingsOf(options: RedisOptions | undefined, backend: Backend): Settings {
  checkOptions(options);
  const ttl = option(options, "ttl", 30_000);
  const renew = option(options, "renew", true);
  const retention = option(options, "retention", 60_000);
  const owner = option(options, "owner");
  const replicas = option(options, "replicas");
  checkTtl(ttl);
  checkInteger(retention, "retention", 0, MAX_MS);
  checkBoolean(renew, "renew");
  const prefix = prefixOf(options);
  if (owner !== undefined) checkOwner(owner);
  return { ttl, renew, prefix, retention, owner, replicas: replicasOf(replicas, backend) };
}

function checkOwner(owner: unknown): void {
  checkName(owner, "owner");
  must(owner.length <= 100, "owner", "have at most 100 characters", owner, RangeError);
}

function replicasOf(replicas: ReplicaOptions | undefined, backend: Backend): Settings["replicas"] {
  if (replicas === undefined) return undefined;
  must(typeof replicas === "object" && replicas !== null, "replicas", "be an object", replicas);
  const count = option(replicas, "count");
  const timeout = option(replicas, "timeout", 1000);
  checkInteger(count, "replicas.count", 1, 1000);
  checkInteger(timeout, "replicas.timeout", 1, MAX_MS);
  const able = typeof backend.wait === "function";
  const { library = "this client" } = backend;
  const remedy = "pass a single client, such as createClient() of npm:redis or new Redis() of npm:ioredis";
  const rule = `be left out with ${library}, which cannot send WAIT on the connection of a grant: ${remedy}`;
  must(able, "replicas", rule, replicas);
  return { count, timeout };
}

export function checkTtl(ttl: unknown): asserts ttl is number {
  checkInteger(ttl, "ttl", MIN_TTL, MAX_MS);
}

/** The keys of one name: its state, its queue, the details of each waiter, and the ends of leases where there can be several. */
export type Keys = readonly [state: string, queue: string, waiters: string, ...leases: string[]];

/** The version of the stored data. Versions that differ do not see each other. */
const LAYOUT = 2;

export function keysOf(prefix: string, kind: Kind, name: string): Keys {
  const state = `${prefix}${kind}:${LAYOUT}:{${escapeName(name)}}`;
  const leases = kind === "semaphore" || kind === "rw" ? [`${state}:leases`] : [];
  return [state, `${state}:queue`, `${state}:waiters`, ...leases];
}

/** The keys of a rate limit, or of one key of it; "%:" is in no escaped text. */
export function rateKeysOf(prefix: string, name: string, key?: string): readonly [string, string] {
  const text = key === undefined ? escapeName(name) : `${escapeName(name)}%:${escapeName(key)}`;
  const head = `${prefix}rate:${LAYOUT}:{${text}}`;
  return [head, `${head}:starts`];
}

const SLOTS = 16_384;

/** The hash slot of a key, by which a cluster decides on which node it is: CRC16 (XMODEM) of the text in the braces. */
export function slotOf(key: string): number {
  const tag = key.slice(key.indexOf("{") + 1, key.indexOf("}"));
  let crc = 0;
  for (const byte of new TextEncoder().encode(tag)) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit++) crc = (crc << 1 ^ (crc & 0x8000 ? 0x1021 : 0)) & 0xffff;
  }
  return crc % SLOTS;
}

/**
 * Only what would be ambiguous or unreadable in a key is escaped: the escape itself, braces, white space, control
 * characters, invisible ones, and halves of surrogate pairs, which have no UTF-8 and would all become one replacement
 * character. No set that grows with Unicode (`\p{C}`, `\p{Cf}`): the same name gives the same key on every run-time.
 */
function escapeName(name: string): string {
  return name.replace(/[%{}\s\p{Cc}\p{Co}\p{Cs}\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u206f]/gu, (char) => {
    const hex = (char.codePointAt(0) ?? 0).toString(16);
    return `%${hex}.`;
  });
}
