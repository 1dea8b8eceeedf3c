/**
 * Runs scripts through one client: ids, scripts that the server does not know, errors.
 *
 * @module
 */
import { promiseTry } from "../../internal/check.ts";
import { ClientClosedError, codeOf, isPassing, NoAnswerError, StateError, withoutArguments } from "../errors.ts";
import type { Backend } from "../clients/backend.ts";
import { Portions } from "../clients/portions.ts";
import type { Script } from "../scripts/script.ts";
import { Commands, type SentCommand } from "./commands.ts";
import { Ids } from "./ids.ts";
import { scriptFailure } from "./script_failure.ts";

export class ScriptRunner {
  readonly backend: Backend;
  /** Identifies this client in Redis: the beginning of its ids is the end of its channels' names. */
  readonly ids: Ids = new Ids();
  /** Aborts when the client is closed. */
  readonly closing: AbortSignal;
  /** Sends the commands, and keeps those that have no answer yet. */
  readonly #commands: Commands;
  readonly #portions: Pick<Portions, "send">;
  /** The connection over which each script was last sent in full; a new object each time. */
  readonly #sentInFull = new Map<Script, { readonly over: Backend["connection"] }>();

  constructor(backend: Backend, portions: Pick<Portions, "send"> = new Portions()) {
    this.backend = backend;
    this.#portions = portions;
    const controller = new AbortController();
    this.closing = controller.signal;
    backend.onClose?.(() => controller.abort());
    this.#commands = new Commands(this.closing);
  }

  /**
   * Resolves to the reply of a script. Settles when the client does, perhaps never; rejects with the client's own
   * error. A script that the server does not know is sent in full by the first command that learns of it; others
   * follow.
   *
   * @param command Counts as unanswered if it is. Afterwards, its moment is when the client had it and was connected.
   */
  async run(script: Script, keys: readonly string[], args: readonly string[], command?: SentCommand): Promise<unknown> {
    const { backend } = this;
    let connection: Backend["connection"];
    let inFull = false;
    const handOver = () => {
      if (command?.sender.settled) return Promise.reject(new StateError("its call has ended"));
      connection = backend.connection;
      // Of a new connection it is not known whether its server has the script, and a second round trip may come too
      // late.
      inFull ||= connection !== undefined && this.#sentInFull.get(script)?.over !== connection;
      if (inFull) this.#sentInFull.set(script, { over: connection });
      if (command !== undefined) this.#commands.add(command, connection);
      const [send, text] = inFull ? ["eval", script.source] as const : ["evalsha", script.sha!] as const;
      return backend[send](text, keys as string[], args as string[]); // no client changes them
    };
    if (command !== undefined) command.isHeldBack = true;
    // A repetition is urgent: the first run has waited already.
    for (let isUrgent = command?.sender.isUrgent === true;; isUrgent = true) {
      let lastSent: unknown;
      try {
        // One promise for all calls, so that the first calls are sent in order.
        if (script.sha === undefined) await (script.digest ??= digest(script));
        lastSent = this.#sentInFull.get(script);
        const reply = await this.#portions.send(handOver, isUrgent);
        if (command === undefined) return reply;
        if (connection !== undefined) command.at = Math.max(command.at, connection.since); // it ran after that
        this.#commands.answered(command);
        return reply;
      } catch (error) {
        const code = codeOf(error);
        // Not once its call has settled: it could arrive after the command that cancels this call.
        if (code === "NOSCRIPT" && !command?.sender.settled) {
          inFull = this.#sentInFull.get(script) === lastSent; // no other command has sent it meanwhile
          if (inFull) this.#sentInFull.set(script, { over: connection });
          continue;
        }
        if (command !== undefined && code !== "") this.#commands.answered(command);
        command?.end();
        throw scriptFailure(this.#causeOf(error), script.source, keys, backend.cluster === true);
      }
    }
  }

  /** Loads a script before it is needed. In a cluster, a command without keys may go to any node. */
  protected load(script: Script): void {
    const { connection: over, cluster } = this.backend;
    const sent = this.#sentInFull.get(script);
    if (cluster || (sent !== undefined && sent.over === over)) return;
    this.#sentInFull.set(script, { over });
    promiseTry(() => this.backend.eval(script.source, [], [])).catch(() => this.#sentInFull.delete(script));
  }

  /**
   * The error of a connection that is down or closed is more specific than the error of a command that waited for it.
   */
  #causeOf(error: unknown): unknown {
    withoutArguments(error);
    if (codeOf(error) !== "" || (error instanceof StateError && !(error instanceof NoAnswerError))) return error;
    const { closed, failure } = this.backend;
    withoutArguments(failure);
    // A short silence until the client was closed explains nothing.
    if (closed) return new ClientClosedError(failure, error instanceof NoAnswerError ? failure : error);
    return failure ?? error;
  }

  /** Why a command that was sent at that time has no answer; undefined if the silence is not longer than `least`. */
  silence(at: number, least = -1): unknown {
    const ms = this.#commands.silenceSince(at);
    return ms > least ? this.#causeOf(new NoAnswerError(`Redis has not answered for ${Math.round(ms)} ms`)) : undefined;
  }

  /** Whether a retry may help after this error. */
  mayPass(error: unknown): boolean {
    return !this.backend.closed && isPassing(error);
  }
}

async function digest(script: Script): Promise<string> {
  const bytes = new Uint8Array(await crypto.subtle.digest("SHA-1", new TextEncoder().encode(script.source)));
  return script.sha = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
