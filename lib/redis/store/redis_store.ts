/**
 * The store that runs its scripts in Redis: the arguments of each script are written here, and nowhere else. Invariant:
 * one for each client.
 *
 * @module
 */
import { warn } from "../../internal/platform.ts";
import type { Backend } from "../clients/backend.ts";
import { explain, messageOf, SlotMovingError, UselessAnswerError } from "../errors.ts";
import type { Inspection } from "../inspect.ts";
import { adopt } from "../scripts/adopt.ts";
import { inspect, PAGE } from "../scripts/inspect.ts";
import { renew } from "../scripts/renew.ts";
import { channelsOf, type Script } from "../scripts/script.ts";
import { acquire, release } from "../scripts/state_machine.ts";
import { releaseOwn, verify } from "../scripts/own_keys.ts";
import { slotOf } from "../options.ts";
import { IDLE_KEPT, SINGLE_COMMAND } from "../times.ts";
import { RedisRates } from "../rate/redis_rates.ts";
import { acquireAnswer, InspectedPages, numbersOf, pushOf, wasOf } from "./replies.ts";
import { ScriptRunner } from "./script_runner.ts";
import { ServerClock } from "../clock.ts";
import type {
  AcquireAnswer,
  AcquireRequest,
  PushListener,
  RenewRequest,
  Store,
  StoredName,
  Unsubscribe,
  Was,
} from "./store.ts";

/** How holders are stored, as scripts for both kinds know it. */
const CODES = { one: "m", weighted: "w" } as const;

/** The effect of no messages. */
const SLOW = "waiters find out by heartbeats, and a hand-off takes longer";

export class RedisStore extends ScriptRunner implements Store {
  /** Of a cluster, by hash slot, as a slot is on one node at a time; else one. */
  readonly #clocks = new Map<number, ServerClock>();
  /** Codes. */
  readonly #warned = new Set<string>();
  readonly rates = new RedisRates(this);
  readonly #greetings = new Map<Script, Promise<void>>();
  readonly #greeted = new WeakSet<Script>();
  readonly subscribesFreely = false;
  readonly subscribe: Store["subscribe"];

  constructor(backend: Backend) {
    super(backend);
    if (backend.subscribe !== undefined) this.subscribe = (listener, prefix) => this.#listen(listener, prefix);
  }

  get losses(): number | undefined {
    return this.backend.losses;
  }

  get cluster(): boolean {
    return this.backend.cluster === true;
  }

  warnSlow(refused: string, effect = SLOW): void {
    const user = `The Redis user of this client (${
      this.backend.library ?? "a backend of your own"
    }) may not ${refused}`;
    this.#warnOnce("INTERLOCK_REDIS_RIGHTS", `${user}: ${effect}. See "Least rights" in docs/redis.md.`);
  }

  warnDeaf(failure: unknown): void {
    const reason = this.backend.subscriberFailure ?? failure ?? "the server has not confirmed it";
    const words = `The subscription of this client (${
      this.backend.library ?? "a backend of your own"
    }) cannot be opened: ${messageOf(reason)}`;
    this.#warnOnce("INTERLOCK_REDIS_SUBSCRIPTION", `${words}. Meanwhile ${SLOW}; see docs/operating.md.`);
  }

  #warnOnce(code: string, message: string): void {
    if (this.#warned.has(code)) return;
    this.#warned.add(code);
    warn(message, code);
  }

  clockOf([state]: readonly [string, ...string[]]): ServerClock {
    const slot = this.cluster ? slotOf(state) : 0;
    const clock = this.#clocks.get(slot) ?? new ServerClock();
    this.#clocks.set(slot, clock);
    return clock;
  }

  /** Makes the server's time known, and the release script to the server, before there is anything to release. */
  ready(spec: StoredName, limit: number): Promise<void> | undefined {
    const script = release[spec.holders];
    // In a cluster a command without keys goes to any node: one that hangs, or whose time is another.
    if (this.cluster || this.#greeted.has(script)) return undefined;
    let greeting = this.#greetings.get(script);
    if (greeting === undefined) {
      greeting = this.#greet(spec, script);
      this.#greetings.set(script, greeting);
    }
    return this.within<void>(limit, greeting).catch((error) => {
      // It may never be answered: the next attempt sends its own, unless another call has by now.
      if (this.#greetings.get(script) === greeting) this.#greetings.delete(script);
      throw error;
    });
  }

  async #greet({ clock }: StoredName, script: Script): Promise<void> {
    clock.saw(Number(await this.run(script, [], [], SINGLE_COMMAND)));
    this.#greeted.add(script);
  }

  acquire(request: AcquireRequest, limit: number, late: (answer: AcquireAnswer) => void): Promise<AcquireAnswer> {
    const { adopts, spec: { holders, keys } } = request;
    const parse = (reply: unknown) => acquireAnswer(request, reply);
    return adopts === undefined
      ? this.run(acquire[holders], keys, acquireArguments(request), limit, parse, late, request)
      : this.run(adopt[holders], keys, adoptArguments(request, adopts), limit, parse, late, request);
  }

  async release(spec: StoredName, id: string, limit: number, again = false): Promise<Was> {
    if (this.cluster && again) return await this.#releaseOwn(spec, id, limit);
    try {
      return await this.#release(spec, id, limit, "");
    } catch (error) {
      if (!(error instanceof SlotMovingError)) throw error;
      const was = await this.#releaseOwn(spec, id, limit);
      if (was === "unknown") throw error; // it may be in the queue
      return was;
    }
  }

  /** Ends the hold of an id by its own keys alone. The queue is served as soon as the server lets it. */
  async #releaseOwn(spec: StoredName, id: string, limit: number): Promise<Was> {
    const { clock, holders } = spec;
    const args = [id, String(IDLE_KEPT)];
    const run = async (keys: readonly string[]) => numbersOf(await this.run(releaseOwn[holders], keys, args, limit));
    const keys = ownKeys(spec);
    const [code = NaN, time = NaN, more = 0] = await run(keys).catch(async (error) => {
      if (keys.length === 1 || !(error instanceof SlotMovingError)) throw error;
      const reply = await run([keys[0]!]); // the last lease of a name takes its key along
      if (reply[0] === -1) throw error;
      return reply;
    });
    clock.saw(time);
    // Else by the next waiter that asks.
    if (more !== 0) this.#release(spec, "", limit, "serve").catch(() => {});
    return wasOf(code);
  }

  async releaseAll(spec: StoredName, limit: number): Promise<boolean> {
    return await this.#release(spec, "", limit, "force") === "held";
  }

  async #release(spec: StoredName, id: string, limit: number, mode: "" | "force" | "serve"): Promise<Was> {
    const { clock, holders, keys, settings } = spec;
    let was: Was | undefined;
    for (;;) {
      const args = [id, String(IDLE_KEPT), mode, channelsOf(settings.prefix)];
      if (this.cluster) args.push("c");
      const reply = numbersOf(await this.run(release[holders], keys, args, limit));
      const [code = NaN, time = NaN, more = 0, mute] = reply;
      clock.saw(time);
      if (mute === 1) this.warnSlow(`PUBLISH to its channels, ${channelsOf(settings.prefix)}*`);
      was ??= wasOf(code);
      if (![0, 1, 2].includes(more)) throw new UselessAnswerError(`the answer has an unknown flag, ${more}`);
      if (more === 0) return was;
      if (more === 2) mode = "serve"; // one run is bounded: the rest is left to the next
    }
  }

  renew(
    { holds, exact, latest, own }: RenewRequest,
    limit: number,
    late?: (known: boolean[] | undefined) => void,
  ): Promise<boolean[] | undefined> {
    const isOwn = this.cluster && own;
    const args = [String(latest), isOwn ? "own" : "all", channelsOf(holds[0]!.spec.settings.prefix)];
    for (const { id, ttl, spec: { holders } } of holds) {
      const code = CODES[holders];
      args.push(exact ? code.toUpperCase() : code, id, String(ttl), String(IDLE_KEPT));
    }
    const { clock } = holds[0]!.spec;
    const parse = (reply: unknown) => {
      const [code = NaN, ...known] = numbersOf(reply);
      clock.saw(code === -2 ? known[0]! : code);
      if (code === -2) return undefined;
      if (known.length !== holds.length) throw new UselessAnswerError(`the answer is about ${known.length} holds`);
      return known.map((one) => one === 1);
    };
    const keys = holds.flatMap(({ spec }) => isOwn ? ownKeys(spec) : spec.keys);
    return this.run(renew, keys, args, limit, parse, late);
  }

  async verify(spec: StoredName, id: string, limit: number): Promise<number> {
    const { clock, holders } = spec;
    const reply = await this.run(verify, ownKeys(spec), [CODES[holders], id], limit);
    const [time = NaN, rest = NaN] = numbersOf(reply);
    clock.saw(time);
    if (Number.isNaN(rest)) throw new UselessAnswerError("the answer shows no time");
    return rest / 1000;
  }

  async inspect({ holders, keys, what }: StoredName, limit: number): Promise<Inspection> {
    const pages = new InspectedPages();
    try {
      for (let from = 0;; from += PAGE) {
        const inspection = pages.add(await this.run(inspect[holders], keys, [String(from)], limit));
        if (inspection !== undefined) return inspection;
      }
    } catch (error) {
      throw explain(`inspect ${what}`, error);
    }
  }

  async #listen(listener: PushListener, prefix: string): Promise<Unsubscribe | undefined> {
    return await this.backend.subscribe!(
      channelsOf(prefix) + this.ids.process,
      (message) => {
        const push = pushOf(message);
        if (push !== undefined) listener.receive(push);
      },
      () => listener.resumed(),
      (forGood = false) => listener.lost(forGood),
    );
  }
}

function acquireArguments({ id, mode, place, latest, spec }: AcquireRequest): string[] {
  const { settings: { prefix, ttl, owner }, weight, limit, holders } = spec;
  const args = [id, String(ttl), String(ttl + IDLE_KEPT), String(latest), mode, String(place), channelsOf(prefix)];
  if (holders === "weighted") args.push(owner ?? "", String(weight), String(limit));
  else if (owner !== undefined) args.push(owner);
  return args;
}

function adoptArguments({ id, latest, spec: { settings, weight } }: AcquireRequest, from: string): string[] {
  const { ttl, owner = "" } = settings;
  return [id, from, String(ttl), String(IDLE_KEPT), String(latest), owner, String(weight)];
}

/** The keys that exist as long as a hold does: its state, and the ends of the leases where there are several. */
function ownKeys({ keys: [state, , , ...leases] }: StoredName): string[] {
  return [state, ...leases];
}
