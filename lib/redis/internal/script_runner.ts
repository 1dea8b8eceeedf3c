/**
 * How scripts are run through one client: ids, the server's clock, limits. Invariant: every call settles by its own
 * limit, also if the client never does; after that it counts as "may have run", never as "did not run".
 *
 * @module
 */
import { promised } from "../../internal/check.ts";
import { onCancel } from "../../internal/cancellation.ts";
import { codeOf, isPassing, NoAnswerError, RedisError } from "../errors.ts";
import type { Backend } from "../clients/backend.ts";
import type { Script } from "../scripts/script.ts";
import { now } from "./clock.ts";
import { type Member, Members } from "./members.ts";

/** Ends with the client. */
export interface Closable extends Member {
  close(): void;
}

export class ScriptRunner {
  readonly backend: Backend;
  /** Names this process towards Redis: the first 13 characters of its ids, and the end of its channel's name. */
  readonly process: string = randomName(13);
  #ids = 0;
  /** Microseconds of server time at local time 0, at the earliest; undefined before the first answer. */
  #serverZero: number | undefined;
  readonly #greetings = new Map<Script, Promise<void>>();
  readonly #greeted = new WeakSet<Script>();
  readonly #closing = new Members<Closable>();

  constructor(backend: Backend) {
    this.backend = backend;
    backend.onClose?.(() => this.#close());
  }

  get closed(): boolean {
    return this.backend.closed === true;
  }

  #close(): void {
    for (const closable of this.#closing.all()) closable.close();
  }

  /** Closes it when the client is closed, unless that is called off before. */
  onClose(closable: Closable): void {
    this.#closing.add(closable);
  }

  offClose(closable: Closable): void {
    this.#closing.delete(closable);
  }

  /** A fresh id of 21 characters without separators. */
  newId(): string {
    return this.process + (this.#ids++).toString(36).padStart(8, "0");
  }

  /** Whether the server's time is known, and this script to the server. */
  isReady(release: Script): boolean {
    return this.#greeted.has(release);
  }

  /** Makes both known: one short command in the life of a process. */
  async ready(release: Script, limit: number): Promise<void> {
    let greeting = this.#greetings.get(release);
    if (greeting === undefined) {
      greeting = this.#greet(release).finally(() => this.#greetings.delete(release));
      this.#greetings.set(release, greeting);
    }
    await this.#within(limit, greeting);
  }

  async #greet(release: Script): Promise<void> {
    this.sawTime(Number(await this.run(release, [], [], 5000)));
    this.#greeted.add(release);
  }

  /** Takes over the server's time from an answer that has just arrived. */
  sawTime(microseconds: number): void {
    if (Number.isFinite(microseconds)) this.#serverZero = microseconds - now() * 1000;
  }

  /**
   * The server's time at a local moment, or a little less, for scripts that refuse to run later. It only ever errs by
   * refusing too early, by one round trip at most, and is learnt again with every answer.
   */
  serverTime(at: number): number {
    return Math.floor((this.#serverZero ?? 0) + at * 1000);
  }

  /**
   * Runs a script. Rejects with the client's own error, or with NoAnswerError after `limit` milliseconds.
   *
   * @param unless Whether the call has ended: then a script that the server does not know is not sent in full.
   * @param late Called with an answer that comes after the limit.
   */
  run(
    script: Script,
    keys: readonly string[],
    args: readonly string[],
    limit: number,
    unless?: () => boolean,
    late?: (answer: unknown) => void,
  ): Promise<unknown> {
    const again = (error: unknown) => {
      if (codeOf(error) !== "NOSCRIPT" || unless?.()) return undefined;
      return promised(() => this.backend.eval(script.source, keys as string[], args as string[]));
    };
    return this.#within(limit, this.#evalsha(script, keys as string[], args as string[]), again, late);
  }

  /** Settles as `first` does, or as what `again` makes of its error, or rejects after `limit` milliseconds. */
  #within<T>(
    limit: number,
    first: Promise<T>,
    again?: (error: unknown) => Promise<T> | undefined,
    late?: (value: T) => void,
  ): Promise<T> {
    return new Promise((resolve, reject) => {
      let over = false;
      const timeLimit = onCancel({ timeout: limit }, () => {
        over = true;
        reject(this.#causeOf(new NoAnswerError(`Redis gave no answer within ${Math.round(limit)} ms`)));
      });
      const done = (value: T) => {
        if (over) return late?.(value);
        timeLimit.end();
        resolve(value);
      };
      const failed = (error: unknown) => {
        timeLimit.end();
        reject(this.#causeOf(error));
      };
      first.then(done, (error) => {
        // Not after the limit: it could arrive after the command that cancels this one.
        const second = over ? undefined : again?.(error);
        if (second === undefined) failed(error);
        else second.then(done, failed);
      });
    });
  }

  /** The error of a connection that is down says more than that of the command that waited for it. */
  #causeOf(error: unknown): unknown {
    return codeOf(error) === "" && !this.closed ? this.backend.failure ?? error : error;
  }

  /** The reason why a command in flight has no answer after `ms`. */
  silence(ms: number): unknown {
    return this.#causeOf(new NoAnswerError(`Redis has not answered for ${Math.round(ms)} ms`));
  }

  #evalsha(script: Script, keys: string[], args: string[]): Promise<unknown> {
    const { sha } = script;
    if (sha !== undefined) return promised(() => this.backend.evalsha(sha, keys, args));
    return digest(script).then((fresh) => this.backend.evalsha(fresh, keys, args));
  }

  /** Whether it is worth trying again after this error. */
  mayPass(error: unknown): boolean {
    if (this.closed) return false;
    return error instanceof NoAnswerError || (!(error instanceof RedisError) && isPassing(error));
  }
}

async function digest(script: Script): Promise<string> {
  const bytes = new Uint8Array(await crypto.subtle.digest("SHA-1", new TextEncoder().encode(script.source)));
  return script.sha = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Letters and digits, enough of them that no two processes ever share a name. */
function randomName(length: number): string {
  const letters = "0123456789abcdefghijklmnopqrstuvwxyz";
  const bytes = crypto.getRandomValues(new Uint8Array(length));
  // 256 is no multiple of 36: the first letters come a little more often, which costs less than a bit.
  return Array.from(bytes, (byte) => letters[byte % 36]).join("");
}
