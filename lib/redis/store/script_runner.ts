/**
 * Runs scripts through one client: ids, scripts that the server does not know, errors.
 *
 * @module
 */
import { onCancel } from "../../internal/cancellation.ts";
import { ClientClosedError, codeOf, isPassing, NoAnswerError, StateError, withoutArguments } from "../errors.ts";
import type { Backend } from "../clients/backend.ts";
import type { Script } from "../scripts/script.ts";
import { Ids } from "./ids.ts";
import { scriptFailure } from "./script_failure.ts";

export class ScriptRunner {
  readonly backend: Backend;
  /** Identifies this client in Redis: the beginning of its ids is the end of its channels' names. */
  readonly ids: Ids = new Ids();
  /** Aborts when the client is closed. */
  readonly closing: AbortSignal;

  constructor(backend: Backend) {
    this.backend = backend;
    const controller = new AbortController();
    this.closing = controller.signal;
    backend.onClose?.(() => controller.abort());
  }

  /**
   * Resolves to the reply of a script. Settles when the client does, perhaps never; rejects with the client's own error.
   *
   * @param unless The call: once it has `settled`, a script that the server does not know is not sent in full, because
   *   it could arrive after the command that cancels this call.
   */
  async run(
    script: Script,
    keys: readonly string[],
    args: readonly string[],
    unless?: { readonly settled: boolean },
  ): Promise<unknown> {
    const { backend } = this;
    const given = [keys as string[], args as string[]] as const; // no client changes them
    try {
      // One promise for all calls, so that the first calls are sent in order.
      const sha = script.sha ?? await (script.digest ??= digest(script));
      return await backend.evalsha(sha, ...given).catch((error) => {
        if (codeOf(error) !== "NOSCRIPT" || unless?.settled) throw error;
        return backend.eval(script.source, ...given);
      });
    } catch (error) {
      throw scriptFailure(this.#causeOf(error), script.source, keys, backend.cluster === true);
    }
  }

  /**
   * The error of a connection that is down or closed is more specific than the error of a command that waited for it.
   */
  #causeOf(error: unknown): unknown {
    withoutArguments(error);
    if (codeOf(error) !== "" || (error instanceof StateError && !(error instanceof NoAnswerError))) return error;
    const { closed, failure } = this.backend;
    withoutArguments(failure);
    return closed ? new ClientClosedError(error, failure) : failure ?? error;
  }

  /** The reason why a command has no answer after `ms`. */
  silence(ms: number): unknown {
    return this.#causeOf(new NoAnswerError(`Redis has not answered for ${Math.round(ms)} ms`));
  }

  /** No client bounds the wait for an answer itself. A command without an answer may have run, or may still run. */
  within<T>(ms: number, answer: Promise<T>, keepsAlive = true): Promise<T> {
    return new Promise((resolve, reject) => {
      const limit = onCancel({ signal: this.closing, timeout: ms, keepsAlive }, () => reject(this.silence(ms)));
      const ending = <V>(settle: (value: V) => void) => (value: V) => {
        limit.end();
        settle(value);
      };
      answer.then(ending(resolve), ending(reject));
    });
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
