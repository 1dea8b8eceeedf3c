/**
 * The replies and messages of the scripts, in named fields. Invariant: a reply of an unexpected shape is rejected, and
 * never treated as a grant.
 *
 * @module
 */
import { quote } from "../../internal/check.ts";
import { UnansweredError } from "../errors.ts";
import { callerOf, type Inspection, type Waiter } from "../inspect.ts";
import type { AcquireAnswer, AcquireRequest, Prior, PushListener, Renewed } from "./store.ts";

/** A reply that is a list of numbers, or one number. */
export function numbersOf(reply: unknown): number[] {
  if (Array.isArray(reply)) return reply.map(numberOf);
  const single = numberOf(reply);
  return Number.isNaN(single) ? rejectReply(reply) : [single];
}

/** Throws for a reply of another shape. */
export function rejectReply(reply: unknown): never {
  const hint = reply === "QUEUED" ? ": the application has a transaction open on this client" : "";
  const shown = Array.isArray(reply) ? `[${numbersOf(reply)}]` : quote(reply);
  throw new UnansweredError(`the answer has another shape: ${shown}${hint}`);
}

/** Reads a number, even as text or bytes, which clients can be configured to return; NaN for anything else. */
function numberOf(value: unknown): number {
  const isText = typeof value === "string" || value instanceof Uint8Array;
  if (isText && value.length === 0) return NaN;
  return isText || typeof value === "number" || typeof value === "bigint" ? Number(value) : NaN;
}

/** A token has 16 digits. */
const FIRST_TOKEN = 1e15;

/**
 * fence | 1 fence differingLimit, or of a hold that is taken over 1 fence weight | 0 position fence endsIn listeners
 * unfinished differingLimit | -2
 */
export function acquireAnswer({ waits, adopts }: AcquireRequest, reply: unknown): AcquireAnswer {
  if (adopts === undefined && !Array.isArray(reply) && numberOf(reply) >= FIRST_TOKEN) reply = [1, reply];
  const [code, first = 0, second = 0, third = 0, listeners, unfinished, differingLimit = 0] = numbersOf(reply);
  if (code === -2) throw new UnansweredError("the server has released this call already");
  if (code === 1 && Number.isSafeInteger(first) && first > 0) {
    if (adopts === undefined) return { kind: "granted", fence: first, differingLimit: second };
    if (second > 0) return { kind: "granted", fence: first, weight: second };
  }
  if (code !== 0 || (waits && !(first > 0) && unfinished !== 1)) rejectReply(reply);
  return {
    kind: "waiting",
    position: first,
    fence: second,
    endsIn: third,
    foundNoSubscriber: listeners === 0,
    unfinished: unfinished === 1,
    differingLimit,
  };
}

/** 1 | 0 | 2 for each hold. */
export function renewedOf(reply: unknown, holds: number): Renewed[] {
  const codes = numbersOf(reply);
  if (codes.length !== holds) rejectReply(reply);
  return codes.map((code) => (["lost", "set", "late"] as const)[code] ?? rejectReply(reply));
}

/** µs */
export function timeLeftOf(reply: unknown): number {
  const [rest = NaN] = numbersOf(reply);
  return Number.isNaN(rest) ? rejectReply(reply) : rest / 1000;
}

/** code, or code unfinished mute. `unfinished`: "serve" has to follow, because one run is bounded. */
export function releaseAnswer(reply: unknown): { was: Prior; unfinished: boolean; isMute: boolean } {
  const [code = NaN, unfinished, mute] = numbersOf(reply);
  const was = (["unknown", "held", "waiting"] as const)[code] ?? rejectReply(reply);
  return { was, unfinished: unfinished === 1, isMute: mute === 1 };
}

/** Passes on a message on the channel of this process, except for one of an unexpected shape. */
export function readPush(message: string, receive: PushListener["receive"]): void {
  const [id = "", text, extra] = message.split(" ");
  const fence = Number(text);
  if (extra === undefined && Number.isSafeInteger(fence)) receive(id, fence);
}

/** A page of an inspection, with the cursor of the next one. Each page has other holders; the first has the rest. */
export function inspectedPage(reply: unknown): readonly [page: Inspection, cursor: string] {
  const answer = reply as unknown[];
  const [time = 0, ttl = 0, fence = 0, , , waiting = 0] = numbersOf(reply);
  const holders = recordsOf(answer[3], 5).map(([id, rest, token, permits, owner]) => {
    // A token is the time of its grant, unless the server's clock was set back.
    const caller = readCaller(id, Math.min(Number(token), time), owner, rest);
    return { ...caller, fencingToken: Number(token), permits: Number(permits) };
  });
  const waiters = recordsOf(answer[4], 4).map(([id, since, rest, owner]) => readCaller(id, since, owner, rest));
  return [{ holders, waiters, waiting, fence, ttl: Math.max(0, ttl) }, String(answer[6])];
}

/** @param since In microseconds. */
function readCaller(id: unknown, since: unknown, owner: unknown, rest: unknown): Waiter {
  // Ids and owners are bytes if the client is configured to return them.
  return callerOf(String(id), String(owner), Math.floor(Number(since) / 1000), Number(rest));
}

/** The records of a flat list. */
function recordsOf(list: unknown, length: number): unknown[][] {
  const flat = list as unknown[];
  return Array.from({ length: flat.length / length }, (_, i) => flat.slice(i * length, (i + 1) * length));
}
