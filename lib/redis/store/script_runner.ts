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

  get closed(): boolean {
    return this.backend.closed === true;
  }

  get failure(): unknown {
    return withoutArguments(this.backend.failure);
  }

  /**
   * Runs a script. Settles when the client does, perhaps never; rejects with the client's own error.
   *
   * @param parse Converts the reply to the result, or throws.
   * @param unless The call: once it has `settled`, a script that the server does not know is not sent in full, because
   *   it could arrive after the command that cancels this call.
   */
  async run<T = unknown>(
    script: Script,
    keys: readonly string[],
    args: readonly string[],
    parse: (reply: unknown) => T = (reply) => reply as T,
    unless?: { readonly settled: boolean },
  ): Promise<T> {
    return parse(await this.#replyTo(script, keys as string[], args as string[], unless));
  }

  async #replyTo(
    script: Script,
    keys: string[],
    args: string[],
    unless: { readonly settled: boolean } | undefined,
  ): Promise<unknown> {
    try {
      return await this.#evalsha(script, keys, args).catch((error) => {
        if (codeOf(error) !== "NOSCRIPT" || unless?.settled) throw error;
        return this.backend.eval(script.source, keys, args);
      });
    } catch (error) {
      throw scriptFailure(this.#causeOf(error), script.source, keys, this.backend.cluster === true);
    }
  }

  /**
   * The error of a connection that is down or closed is more specific than the error of a command that waited for it.
   */
  #causeOf(error: unknown): unknown {
    withoutArguments(error);
    if (codeOf(error) !== "" || (error instanceof StateError && !(error instanceof NoAnswerError))) return error;
    const { failure } = this;
    return this.closed ? new ClientClosedError(error, failure) : failure ?? error;
  }

  /** The reason why a command has no answer after `ms`. */
  silence(ms: number): unknown {
    return this.#causeOf(new NoAnswerError(`Redis has not answered for ${Math.round(ms)} ms`));
  }

  /** No client bounds the wait for an answer itself. A command without an answer may have run, or may still run. */
  within<T>(ms: number, answer: Promise<T>, keepsAlive = true): Promise<T> {
    return new Promise((resolve, reject) => {
      const limit = onCancel({ signal: this.closing, timeout: ms, keepsAlive }, () => reject(this.silence(ms)));
      answer.then((value) => {
        limit.end();
        resolve(value);
      }, (error) => {
        limit.end();
        reject(error);
      });
    });
  }

  #evalsha(script: Script, keys: string[], args: string[]): Promise<unknown> {
    const { sha } = script;
    if (sha !== undefined) return this.backend.evalsha(sha, keys, args);
    // One promise for all calls, so that the first calls are sent in order.
    script.digest ??= digest(script);
    return script.digest.then((fresh) => this.backend.evalsha(fresh, keys, args));
  }

  /** Whether a retry may help after this error. */
  mayPass(error: unknown): boolean {
    return !this.closed && isPassing(error);
  }
}

async function digest(script: Script): Promise<string> {
  const bytes = new Uint8Array(await crypto.subtle.digest("SHA-1", new TextEncoder().encode(script.source)));
  return script.sha = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
