/**
 * The replies and messages of the scripts, in named fields. Invariant: a reply of another shape than the script's is
 * refused as no answer, and never taken for a grant.
 *
 * @module
 */
import { quote } from "../../internal/check.ts";
import { RedisError, UselessAnswerError } from "../errors.ts";
import type { Holder, Inspection, Waiter } from "../inspect.ts";
import { PROCESS_LENGTH } from "../scripts/script.ts";
import {
  type AcquireAnswer,
  type AcquireRequest,
  type Granted,
  NotifyMode,
  type Push,
  type StoredName,
  type Was,
} from "./store.ts";

/** A reply that is a list of numbers. */
export function numbersOf(reply: unknown): number[] {
  if (Array.isArray(reply)) return reply.map(numberOf);
  const hint = reply === "QUEUED" ? ": the application has a transaction open on this client" : "";
  throw new UselessAnswerError(`the answer is no list but ${quote(reply)}${hint}`);
}

/** A number, also as text or bytes, as clients can be set to return it; NaN for anything else. */
function numberOf(value: unknown): number {
  const isText = typeof value === "string" || value instanceof Uint8Array;
  if (isText && value.length === 0) return NaN;
  return isText || typeof value === "number" || typeof value === "bigint" ? Number(value) : NaN;
}

/** The callers disagree about the limit. */
export function limitError({ what, limit }: StoredName, elsewhere: number): RedisError {
  const here = `with ${limit} permits here`;
  return new RedisError(`Cannot acquire ${what}: it is in use with ${elsewhere} permits elsewhere, ${here}`);
}

/** 1 fence now, and weight end of a hold that is taken over | 0 now place askAt deaf more fence | -2 now | -3 limit now */
export function acquireAnswer({ spec, mode, adopts }: AcquireRequest, reply: unknown): AcquireAnswer {
  const [code = NaN, first = NaN, second = 0, third = 0, fourth, more, fence = 0] = numbersOf(reply);
  if (code === -3) throw limitError(spec, first);
  checkGrant(code, first, second);
  spec.clock.saw(code === 1 ? second : first);
  if (code === -2) return { kind: "refused" };
  if (code === 1) {
    return adopts === undefined ? { kind: "granted", fence: first } : adopted(first, second, third, fourth);
  }
  if (mode !== NotifyMode.none && first !== 0 && second === 0 && more !== 1) {
    throw new UselessAnswerError("the answer names no place in the queue");
  }
  const [deaf, again] = [fourth === 1, more === 1];
  return { kind: "waiting", serverTime: first, place: second, fence, askAt: third, deaf, more: again };
}

/** Throws for a code of something else, and for a grant without a token or the server's time. */
function checkGrant(code: number, fence: number, time: number): void {
  if (![1, 0, -2].includes(code)) throw new UselessAnswerError(`the answer has an unknown code, ${code}`);
  if (code !== 1) return;
  if (!(Number.isSafeInteger(fence) && fence > 0)) throw new UselessAnswerError(`the answer has no token but ${fence}`);
  if (!(Number.isSafeInteger(time) && time > 0)) throw new UselessAnswerError(`the answer has no time but ${time}`);
}

/** A hold that was taken over, with its weight and its end. */
function adopted(fence: number, time: number, weight: number, end = NaN): Granted {
  if (!(weight > 0 && end > time)) throw new UselessAnswerError("the answer has no weight or no end");
  return { kind: "granted", fence, weight, rest: (end - time) / 1000 };
}

/** The code of a release. */
export function wasOf(code: number): Was {
  if (![0, 1, 2].includes(code)) throw new UselessAnswerError(`the answer has an unknown code, ${code}`);
  return code === 1 ? "held" : code === 2 ? "waiting" : "unknown";
}

/** A message on the channel of this process; undefined for one of another shape. */
export function pushOf(message: string): Push | undefined {
  const [id = "", fence, time, at] = message.split(" ");
  const [token, serverTime, end] = [Number(fence), Number(time), Number(at ?? 0)];
  if (![token, serverTime, end].every(Number.isSafeInteger)) return undefined;
  return at === undefined
    ? { kind: "granted", id, fence: token, serverTime }
    : { kind: "lease ends", id, at: end, serverTime };
}

/** Items of one holder, and of one waiter, in the reply of an inspection. */
const [HOLDER, WAITER] = [6, 4];

/** The pages of one inspection, as one. By id: between two pages one may move up and be seen again. */
export class InspectedPages {
  readonly #holders = new Map<string, Holder>();
  readonly #waiters = new Map<string, Waiter>();
  #dead = 0;

  /** Returns the inspection after its last page. */
  add(reply: unknown): Inspection | undefined {
    const answer = reply as unknown[];
    const [time = 0, ttl = 0, fence = 0, , , , queued = 0, dead = 0, more] = numbersOf(reply);
    for (const [id, end, token, permits, since, owner] of recordsOf(answer[4], HOLDER)) {
      const caller = callerOf(id, since, owner, Number(end) - time);
      this.#holders.set(caller.id, { ...caller, fencingToken: Number(token), permits: Number(permits) });
    }
    for (const [id, since, alive, owner] of recordsOf(answer[5], WAITER)) {
      const caller = callerOf(id, since, owner, Number(alive) - time);
      this.#waiters.set(caller.id, caller);
    }
    this.#dead += dead;
    if (more === 1) return undefined;
    const waiting = Math.max(this.#waiters.size, queued - this.#dead);
    const [holders, waiters] = [[...this.#holders.values()], [...this.#waiters.values()]];
    return { holders, waiters, waiting, fence, ttl: Math.max(0, ttl) };
  }
}

/** Times in the answer are microseconds. */
function callerOf(id: unknown, since: unknown, owner: unknown, rest: number): Waiter {
  const [text, label] = [String(id), String(owner)]; // bytes, where the client is set to return them
  return {
    id: text,
    process: text.slice(0, PROCESS_LENGTH),
    ...label !== "" && { owner: label },
    since: Math.floor(Number(since) / 1000),
    expiresIn: rest / 1000,
  };
}

/** The records of a flat list. */
function recordsOf(list: unknown, length: number): unknown[][] {
  const flat = list as unknown[];
  return Array.from({ length: flat.length / length }, (_, i) => flat.slice(i * length, (i + 1) * length));
}
