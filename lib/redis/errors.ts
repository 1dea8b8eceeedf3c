/**
 * The failures of the server and of the connection to it. Invariant: an error that Redis answered with is never taken for a
 * lost lease, and one that may pass by itself is never taken for a final one.
 *
 * @module
 */
import { SyncError } from "../errors.ts";

/** Redis refused a command or could not be reached. `cause` is the client's own error. */
export class RedisError extends SyncError {
  static {
    this.prototype.name = "RedisError";
  }
}

/** Nothing came back within the time that one command gets: it may or may not have run. Internal. */
export class NoAnswerError extends RedisError {
  static {
    this.prototype.name = "NoAnswerError";
  }
}

/**
 * A release that may or may not have ended the hold: an answer is missing, and the hold is over by now. Internal; users
 * see a RedisError.
 */
export class UnknownOutcomeError extends RedisError {
  constructor(act: string, cause: unknown) {
    super(`Cannot ${act}: the outcome is not known, because an answer is missing (${messageOf(cause)})`, { cause });
  }
}

/** The server's words, without the dash of one client and the text that Redis 6 puts around the error of a script. */
function replyOf(error: unknown): string {
  return messageOf(error).replace(/^-?(ERR Error running script .*: -?(?=[A-Z]{2,} ))?/, "");
}

/** The error code in front of a reply; "" when there is none. */
export function codeOf(error: unknown): string {
  const code = /^([A-Z][A-Z]+)\b/.exec(replyOf(error))?.[1] ?? "";
  // Codes of the operating system, such as ECONNREFUSED, are about the connection.
  return /^E[A-Z]{4,}$/.test(code) && code !== "EXECABORT" ? "" : code;
}

/** The message of an error, or of any other thrown value. */
export function messageOf(error: unknown): string {
  return String((error as { message?: unknown } | null | undefined)?.message ?? error);
}

const explanations: Readonly<Record<string, string>> = {
  OOM: "Redis is out of memory (maxmemory) and takes no new entries",
  NOAUTH: "Redis asks for a password",
  WRONGPASS: "Redis does not accept the password",
  NOPERM: "this Redis user may not do that",
  READONLY: "this Redis is a read-only replica",
  LOADING: "Redis is still loading its data",
  BUSY: "Redis is busy with a script",
  CROSSSLOT: "the keys of one name are not in one cluster slot",
  WRONGTYPE: "something else uses this key in Redis",
  MISCONF: "Redis cannot save its data and refuses writes",
  NOREPLICAS: "not enough replicas are connected, and this Redis refuses writes without them",
};

/** Answers that may be different in a moment: a failover, a restart or a script that takes long. */
const passing = new Set([
  "LOADING",
  "BUSY",
  "READONLY",
  "TRYAGAIN",
  "CLUSTERDOWN",
  "MASTERDOWN",
  "MOVED",
  "ASK",
  "UNBLOCKED",
  "NOREPLICAS",
]);

/** Whether trying again can help: the server did not refuse, or only refuses for now. */
export function isPassing(error: unknown): boolean {
  const code = codeOf(error);
  return code === "" || passing.has(code) || /^-?ERR max number of clients/.test(messageOf(error));
}

/** The same failure in words, with the client's error as its cause. */
export function explain(act: string, error: unknown): RedisError {
  if (error instanceof RedisError && !(error instanceof NoAnswerError)) return error;
  const known = explanations[codeOf(error)];
  const state = error instanceof NoAnswerError
    ? messageOf(error)
    : known === undefined
    ? describe(error)
    : `${known} (${replyOf(error)})`;
  return new RedisError(`Cannot ${act}: ${state}`, { cause: error });
}

function describe(error: unknown): string {
  // Node's error after several addresses has an empty message.
  const inner = (error as { errors?: unknown[] } | null)?.errors?.[0];
  const message = messageOf(error) || (inner === undefined ? "" : messageOf(inner));
  return codeOf(error) === "" ? `the connection failed (${message})` : message;
}
