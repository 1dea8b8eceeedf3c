/**
 * The acquire commands of one id, their answers, and the release of the id. Invariant: the commands run one after the
 * other; one without an answer may still run until `inFlightUntil`.
 *
 * @module
 */
import { acquireArguments, livenessOf } from "./acquire_arguments.ts";
import { now } from "./clock.ts";
import { codeOf, NoAnswerError, RedisError } from "../errors.ts";
import { moment } from "./lease_deadline.ts";
import { releaseInBackground } from "./release_by_id.ts";
import type { ResourceSpec } from "./resource_spec.ts";
import { NotifyMode } from "./subscription.ts";

/** An answer, and the command that it belongs to. Times of the server are in microseconds. */
export type Answer =
  | { readonly kind: "granted"; readonly fence: number; readonly sentAt: number }
  | Waiting
  /** The command came too late by the server's clock, or the id was released already. */
  | { readonly kind: "refused" };

export interface Waiting {
  readonly kind: "waiting";
  readonly sentAt: number;
  readonly mode: NotifyMode;
  readonly serverTime: number;
  /** 0 for a caller that has none. */
  readonly place: number;
  /** When a lease ahead of the caller ends; 0 if that is no reason to ask. */
  readonly askAt: number;
  /** Nothing listens on the caller's channel, although it has subscribed. */
  readonly deaf: boolean;
  /** One run is bounded, and there is more to do: to be sent again at once. */
  readonly more: boolean;
}

/** A grant whose answer came after its command's time. */
export interface LateGrant {
  readonly fence: number;
  readonly sentAt: number;
  /** As of the command. */
  readonly gap: number;
}

export class AcquireCommand {
  readonly id: string;
  readonly #spec: ResourceSpec;
  readonly #onLate: (grant: LateGrant) => void;
  /** When the last command with an answer was sent. */
  #answeredAt = -Infinity;
  /** Server time until which a command whose answer never came may still run. */
  inFlightUntil = 0;
  /** Redis may know the id, and no lease has it. */
  known = false;
  /** The clocks' difference when the last command with an answer was sent. */
  gap = 0;

  /** @param onLate Called with a late grant, unless a later command has been answered. */
  constructor(spec: ResourceSpec, onLate: (grant: LateGrant) => void) {
    this.id = spec.connection.newId();
    this.#spec = spec;
    this.#onLate = onLate;
  }

  /**
   * @param limit Milliseconds that it may take.
   * @param cancelled Whether the call has ended: then a script that the server does not know is not sent in full.
   */
  async send(mode: NotifyMode, place: number, limit: number, cancelled: () => boolean): Promise<Answer> {
    const { at: sentAt, gap } = moment();
    const { connection, family, keys } = this.#spec;
    const latest = connection.serverTime(sentAt + limit);
    const args = acquireArguments(this.#spec, this.id, latest, mode, place);
    const before = this.inFlightUntil;
    this.inFlightUntil = Math.max(before, latest);
    this.known = true;
    const late = (answer: unknown) => {
      const [code, fence] = answer as unknown[];
      if (Number(code) === 1 && sentAt > this.#answeredAt) this.#onLate({ fence: Number(fence), sentAt, gap });
    };
    try {
      const answer = await connection.run(family.acquire, keys, args, limit, cancelled, late) as unknown[];
      this.inFlightUntil = before;
      this.#answeredAt = sentAt;
      const parsed = this.#parse(answer.map(Number), sentAt, mode);
      this.gap = gap;
      return parsed;
    } catch (error) {
      if (codeOf(error) !== "") this.inFlightUntil = before; // the server refused it, so it did not run
      throw error;
    }
  }

  /** Releases the id in the background if Redis may know it. */
  releaseById(): void {
    if (!this.known) return;
    this.known = false;
    const { what, settings: { ttl } } = this.#spec;
    const options = { operation: `release ${what}`, until: now() + livenessOf(ttl), inFlightUntil: this.inFlightUntil };
    releaseInBackground(this.#spec, this.id, options);
  }

  #parse(answer: number[], sentAt: number, mode: NotifyMode): Answer {
    const [code = NaN, first = 0, second = 0, askAt = 0, deaf, more] = answer;
    if (code === -3) {
      const { what, limit } = this.#spec;
      throw new RedisError(
        `Cannot acquire ${what}: it is in use with ${first} permits elsewhere, with ${limit} permits here`,
      );
    }
    if (![1, 0, -2].includes(code)) throw new NoAnswerError(`the answer has an unknown code, ${code}`);
    this.#spec.connection.sawTime(code === 1 ? second : first);
    if (code === -2) return { kind: "refused" };
    if (code === 1) return { kind: "granted", fence: first, sentAt };
    if (mode !== NotifyMode.none && first !== 0 && second === 0 && more !== 1) {
      throw new NoAnswerError("the answer names no place in the queue");
    }
    const flags = { deaf: deaf === 1, more: more === 1 };
    return { kind: "waiting", sentAt, mode, serverTime: first, place: second, askAt, ...flags };
  }
}
