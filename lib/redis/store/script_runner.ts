/**
 * Runs scripts through one client: ids, limits, late answers. Invariant: every call settles by its own limit, even if
 * the client never does. After the limit it counts as "may have run", never as "did not run".
 *
 * @module
 */
import { promised } from "../../internal/check.ts";
import { onCancel } from "../../internal/cancellation.ts";
import { ClientClosedError, codeOf, isPassing, NoAnswerError, StateError, withoutArguments } from "../errors.ts";
import type { Backend } from "../clients/backend.ts";
import type { Script } from "../scripts/script.ts";
import { Ids } from "./ids.ts";
import { Members } from "./members.ts";
import { scriptFailure } from "./script_failure.ts";
import type { Closable } from "./store.ts";

export class ScriptRunner {
  readonly backend: Backend;
  /** Identifies this client in Redis: the beginning of its ids is the end of its channels' names. */
  protected readonly ids = new Ids();
  readonly #closing = new Members<Closable>();

  constructor(backend: Backend) {
    this.backend = backend;
    backend.onClose?.(() => this.#close());
  }

  get closed(): boolean {
    return this.backend.closed === true;
  }

  get failure(): unknown {
    return withoutArguments(this.backend.failure);
  }

  #close(): void {
    for (const closable of this.#closing.all()) closable.close();
  }

  /** Closes `closable` when the client is closed, unless it is removed before. */
  onClose(closable: Closable): void {
    this.#closing.add(closable);
  }

  offClose(closable: Closable): void {
    this.#closing.delete(closable);
  }

  /** Throws unless the invariants of what is to be closed hold; for tests. */
  assertSound(): void {
    for (const closable of this.#closing.all()) closable.assertSound?.();
  }

  /** Returns a fresh id of 21 characters without separators. */
  newId(): string {
    return this.ids.next();
  }

  /**
   * Runs a script. Rejects with the client's own error, or with NoAnswerError after `limit` milliseconds.
   *
   * @param parse Converts the reply to the result, or throws.
   * @param late Called with the result of a reply that comes after the limit.
   * @param unless The call: once it has `settled`, a script that the server does not know is not sent in full.
   */
  run<T = unknown>(
    script: Script,
    keys: readonly string[],
    args: readonly string[],
    limit: number,
    parse: (reply: unknown) => T = (reply) => reply as T,
    late?: (result: T) => void,
    unless?: { readonly settled: boolean },
  ): Promise<T> {
    const first = this.#evalsha(script, keys as string[], args as string[]);
    return new Promise((resolve, reject) => {
      let over = false;
      const timeLimit = onCancel({ timeout: limit }, () => {
        over = true;
        reject(this.#causeOf(new NoAnswerError(`Redis gave no answer within ${Math.round(limit)} ms`)));
      });
      const failed = (error: unknown) => {
        timeLimit.end();
        reject(scriptFailure(this.#causeOf(error), script.source, keys, this.backend.cluster === true));
      };
      const done = (reply: unknown) => {
        timeLimit.end();
        try {
          const result = parse(reply);
          if (over) late?.(result);
          else resolve(result);
        } catch (error) {
          reject(error); // after the limit, no caller waits for it
        }
      };
      first.then(done, (error) => {
        // Not after the limit: it could arrive after the command that cancels this call.
        if (over || codeOf(error) !== "NOSCRIPT" || unless?.settled) return failed(error);
        promised(() => this.backend.eval(script.source, keys as string[], args as string[])).then(done, failed);
      });
    });
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

  /** The reason why a command in flight has no answer after `ms`. */
  silence(ms: number): unknown {
    return this.#causeOf(new NoAnswerError(`Redis has not answered for ${Math.round(ms)} ms`));
  }

  #evalsha(script: Script, keys: string[], args: string[]): Promise<unknown> {
    const { sha } = script;
    if (sha !== undefined) return promised(() => this.backend.evalsha(sha, keys, args));
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
