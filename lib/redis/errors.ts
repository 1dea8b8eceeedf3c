/**
 * Failures of the server and of the connection to it. Invariants: an error reply is never treated as a lost lease, and
 * a passing error is never treated as final.
 *
 * @module
 */
import { nameError, SyncError } from "../errors.ts";

/** Redis refused a command or could not be reached. `cause` is the client's own error. */
export class RedisError extends SyncError {
  static {
    nameError(this, "RedisError");
  }
}

/** An error's options; none without a cause. */
export function causedBy(cause: unknown): { cause: unknown } | undefined {
  return cause === undefined ? undefined : { cause };
}

/** The reason for the failure of a command; {@linkcode explain} adds the call. Internal: users see a RedisError. */
export class StateError extends RedisError {}

/** The data in Redis has an unexpected shape. */
export class DataError extends StateError {}

/** The command did not run, and is tried again. */
export class PassingError extends StateError {}

/** The keys of a name are moving from one cluster node to another. */
export class SlotMovingError extends PassingError {}

/** No usable answer came, with a known reason: the command may have run, or may still run. */
export class UnansweredError extends StateError {}

/** The client was closed, perhaps by the failure, and runs no more commands. */
export class ClientClosedError extends UnansweredError {
  constructor(failure?: unknown, cause?: unknown) {
    super(`the client was closed${failure === undefined ? "" : ` (${messageOf(failure)})`}`, causedBy(cause));
  }
}

/** No answer came within the command's time. */
export class NoAnswerError extends UnansweredError {
  static {
    nameError(this, "NoAnswerError");
  }
}

/** Whether a command that failed with this error may have run, or may still run: it is no refusal of the server. */
export function mayHaveRun(error: unknown): boolean {
  return error instanceof RedisError ? error instanceof UnansweredError : codeOf(error) === "";
}

/**
 * A release with an unknown outcome: an answer is missing, and the hold is over by now. Internal; users see a
 * RedisError.
 */
export class UnknownOutcomeError extends RedisError {}

/** The server's text, without one client's dash and the text that Redis 6 adds around a script's error. */
function replyOf(error: unknown): string {
  return messageOf(error).replace(/^-?(ERR Error running script .*: -?(?=[A-Z]{2,} ))?/, "");
}

/** The error code at the beginning of a reply; "" if there is none. */
export function codeOf(error: unknown): string {
  const code = /^([A-Z][A-Z]+)\b/.exec(replyOf(error))?.[1] ?? "";
  // Codes of the operating system, such as ECONNREFUSED, belong to the connection.
  return /^E[A-Z]{4,}$/.test(code) && code !== "EXECABORT" ? "" : code;
}

/** For an unknown command, a server quotes its arguments to the end of the line, such as the password of AUTH. */
const QUOTED_ARGUMENTS = /,? with args beginning with: .*/;

/**
 * The message of an error, or of any other thrown value. Node's error after failing at several addresses has an empty
 * message.
 */
export function messageOf(error: unknown): string {
  const { message, errors: [first] = [] } = Object(error) as { message?: unknown; errors?: unknown[] };
  if (message === "" && first !== undefined) return messageOf(first);
  return String(message ?? error).replace(QUOTED_ARGUMENTS, "");
}

/** By the code; "" is that of errors of the connection. */
const explanations: Readonly<Record<string, string>> = {
  "": "the connection failed",
  OOM: "Redis is out of memory (maxmemory) and takes no new entries",
  NOAUTH: "Redis asks for a password",
  WRONGPASS: "Redis does not accept the password",
  READONLY: "this Redis is a read-only replica",
  LOADING: "Redis is still loading its data",
  BUSY: "Redis is busy with a script",
  CROSSSLOT: "the keys of one name are not in one cluster slot",
  MISCONF: "Redis cannot save its data and refuses writes",
  CLUSTERDOWN: "the cluster is down, or no node of it serves the slot of this name",
  MASTERDOWN: "this replica has lost its master",
  NOREPLICAS: "not enough replicas are connected, and this Redis refuses writes without them",
};

/** Passing errors: a failover, a restart or a long script. */
const passingCodes = new Set(["LOADING", "BUSY", "READONLY", "CLUSTERDOWN", "MASTERDOWN", "UNBLOCKED", "NOREPLICAS"]);

/** Whether a retry can help: the server did not refuse, or refuses only for now. */
export function isPassing(error: unknown): boolean {
  if (error instanceof RedisError) return error instanceof UnansweredError || error instanceof PassingError;
  const code = codeOf(error);
  if (/in subscriber mode/.test(messageOf(error))) return false; // the application has subscribed with this client
  return code === "" || passingCodes.has(code) || /^-?ERR max number of clients/.test(messageOf(error));
}

/** The members of a client's error that can hold arguments; `command` and `lastNodeError` are from ioredis. */
interface CommandError {
  message?: string;
  stack?: string | undefined;
  command?: { readonly name?: unknown } | undefined;
  readonly lastNodeError?: unknown;
}

/**
 * Removes the arguments of the command from an error. ioredis adds them, a server may quote them, and for a failed AUTH
 * they contain the password, which would be printed with the error.
 */
export function withoutArguments(error: unknown): unknown {
  const { message, command, lastNodeError } = Object(error) as CommandError;
  if (typeof command === "object" && "args" in command) (error as CommandError).command = { name: command.name };
  if (lastNodeError !== undefined) withoutArguments(lastNodeError);
  if (typeof message === "string" && QUOTED_ARGUMENTS.test(message)) {
    const { stack } = error as CommandError; // reading it takes a millisecond (Deno 2.9.6)
    (error as CommandError).message = messageOf(error);
    (error as CommandError).stack = stack?.replace(QUOTED_ARGUMENTS, "");
  }
  return error;
}

/** Describes a failure in a few words. */
export function reasonFor(error: unknown): string {
  const known = explanations[codeOf(error)];
  return error instanceof RedisError || known === undefined ? messageOf(error) : `${known} (${replyOf(error)})`;
}

/** Describes the failure of a call, with the client's error as its cause. */
export function explain(operation: string, error: unknown): RedisError {
  const isState = error instanceof StateError;
  if (error instanceof RedisError && !isState) return error;
  const cause = isState && error.cause !== undefined ? error.cause : withoutArguments(error);
  return new RedisError(`Cannot ${operation}: ${reasonFor(error)}`, { cause });
}
