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

/** Why a command failed, without its call, which {@linkcode explain} puts in front. Internal; users see a RedisError. */
export class StateError extends RedisError {}

/** The user has not the right to it. */
export class RightsError extends StateError {}

/** The data in Redis is of another shape, or of something else. */
export class DataError extends StateError {}

/** Tried again: it did not run, or its answer cannot be used. */
export class PassingError extends StateError {}

/** The keys of a name are on their way from one node of a cluster to another. */
export class SlotMovingError extends PassingError {}

/** The client was closed, perhaps by that failure, so that no command of it runs any more. */
export class ClientClosedError extends StateError {
  constructor(cause?: unknown, failure?: unknown) {
    const words = "the client was closed";
    super(
      failure === undefined ? words : `${words} (${messageOf(failure)})`,
      cause === undefined ? undefined : { cause },
    );
  }
}

/** Nothing came back within the time that one command gets: it may or may not have run. */
export class NoAnswerError extends StateError {
  static {
    this.prototype.name = "NoAnswerError";
  }
}

/** The client has not sent the command yet, or sends it again, and says why. Internal. */
export class HeldBackError extends NoAnswerError {}

/** An answer that came and cannot be used: it has another shape than expected, or is too late. Internal. */
export class UselessAnswerError extends PassingError {}

/** Whether this error came with an answer, so that the command cannot run any more. */
export function wasAnswered(error: unknown): boolean {
  return codeOf(error) !== "" || (error instanceof RedisError && !(error instanceof NoAnswerError));
}

/**
 * A release that may or may not have ended the hold: an answer is missing, and the hold is over by now. Internal; users
 * see a RedisError.
 */
export class UnknownOutcomeError extends RedisError {
  constructor(act: string, cause: unknown) {
    super(`Cannot ${act}: the outcome is not known, because an answer is missing (${messageOf(cause)})`, {
      cause: withoutArguments(cause),
    });
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

/** A server that does not know a command quotes its arguments up to the end of the line: of an AUTH, the password. */
const QUOTED = /,? with args beginning with: .*/;

/** The message of an error, or of any other thrown value. Node's error after several addresses has an empty one. */
export function messageOf(error: unknown): string {
  const { message, errors: [first] = [] } = Object(error) as { message?: unknown; errors?: unknown[] };
  if (message === "" && first !== undefined) return messageOf(first);
  return String(message ?? error).replace(QUOTED, "");
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
  MISCONF: "Redis cannot save its data and refuses writes",
  CLUSTERDOWN: "the cluster is down, or no node of it serves the slot of this name",
  MASTERDOWN: "this replica has lost its master",
  NOREPLICAS: "not enough replicas are connected, and this Redis refuses writes without them",
};

/** Answers that may be different in a moment: a failover, a restart or a script that takes long. */
const passing = new Set(["LOADING", "BUSY", "READONLY", "CLUSTERDOWN", "MASTERDOWN", "UNBLOCKED", "NOREPLICAS"]);

/** Whether trying again can help: the server did not refuse, or only refuses for now. */
export function isPassing(error: unknown): boolean {
  if (error instanceof RedisError) return error instanceof NoAnswerError || error instanceof PassingError;
  const code = codeOf(error);
  if (/in subscriber mode/.test(messageOf(error))) return false; // the application subscribes with this client
  return code === "" || passing.has(code) || /^-?ERR max number of clients/.test(messageOf(error));
}

/** The members of a client's error that can hold arguments; `command` and `lastNodeError` are those of ioredis. */
interface CommandError {
  message?: string;
  stack?: string | undefined;
  command?: { readonly name?: unknown } | undefined;
  readonly lastNodeError?: unknown;
}

/**
 * The same error without the arguments of its command, which ioredis adds and a server quotes: of an AUTH that failed,
 * they are the password, and an error is printed with its members and those of its `cause`.
 */
export function withoutArguments(error: unknown): unknown {
  const { message, stack, command, lastNodeError } = Object(error) as CommandError;
  if (typeof command === "object" && "args" in command) (error as CommandError).command = { name: command.name };
  if (lastNodeError !== undefined) withoutArguments(lastNodeError);
  if (typeof message === "string" && QUOTED.test(message)) {
    (error as CommandError).message = messageOf(error);
    (error as CommandError).stack = stack?.replace(QUOTED, "");
  }
  return error;
}

/** The same failure in words, with the client's error as its cause. */
export function explain(act: string, error: unknown): RedisError {
  const inner = error instanceof StateError;
  if (error instanceof RedisError && !inner) return error;
  const known = explanations[codeOf(error)];
  const state = inner ? messageOf(error) : known === undefined ? inWords(error) : `${known} (${replyOf(error)})`;
  const cause = inner && error.cause !== undefined ? error.cause : withoutArguments(error);
  return new RedisError(`Cannot ${act}: ${state}`, { cause });
}

function inWords(error: unknown): string {
  return codeOf(error) === "" ? `the connection failed (${messageOf(error)})` : messageOf(error);
}
