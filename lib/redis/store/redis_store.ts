/**
 * The store that runs its scripts in Redis. Only this file writes the arguments of each script. Invariant: one for each
 * client.
 *
 * @module
 */
import { warn } from "../../internal/platform.ts";
import { messageOf, SlotMovingError } from "../errors.ts";
import type { Holder, Inspection } from "../inspect.ts";
import { adopt, renew, verify } from "../scripts/holds.ts";
import { inspect } from "../scripts/inspect.ts";
import { channelsOf } from "../scripts/script.ts";
import { acquire, release } from "../scripts/state_machine.ts";
import { IDLE_KEPT, now } from "../times.ts";
import type { RateStore } from "../rate/rate_store.ts";
import { redisRates } from "../rate/redis_rates.ts";
import { acquireAnswer, inspectedPage, readPush, releaseAnswer, renewedOf, timeLeftOf } from "./replies.ts";
import type { SentCommand } from "./commands.ts";
import { ScriptRunner } from "./script_runner.ts";
import type { AcquireAnswer, AcquireRequest, Prior, Renewal, Renewed, Store, StoredResource } from "./store.ts";

/** The code of the warning that no messages come. */
const SUBSCRIPTION_CODE = "INTERLOCK_REDIS_SUBSCRIPTION";

/** The effect of no messages. */
const SLOW_WORDS = "waiters find out by heartbeats, and a hand-off takes longer";
type ReleasePurpose = "" | "late" | "force" | "serve" | "wake";

export class RedisStore extends ScriptRunner implements Store {
  /** The client with the name of its library, for warnings. */
  readonly #describedClient = `this client (${this.backend.library ?? "a backend of your own"})`;
  /** The codes of its warnings so far. */
  readonly #warned = new Set<string>();
  readonly rates: RateStore = redisRates(this);
  readonly subscribe: Store["subscribe"] = this.backend.subscribe && (async ({ receive, resumed, ended }, prefix) => {
    const onMessage = (message: string) => readPush(message, receive);
    const stop = await this.backend.subscribe!(channelsOf(prefix) + this.ids.process, onMessage, resumed, ended);
    this.#warned.delete(SUBSCRIPTION_CODE);
    return stop;
  });

  warnSlow(refused: string): void {
    const words = `The Redis user of ${this.#describedClient} may not ${refused}: ${SLOW_WORDS}`;
    this.#warnOnce("INTERLOCK_REDIS_RIGHTS", `${words}. Give it that right by ACL SETUSER.`);
  }

  warnUnsubscribed(failure: unknown): void {
    const reason = this.backend.subscriberFailure ?? failure ?? "the server has not confirmed it";
    const words = `The subscription of ${this.#describedClient} cannot be opened: ${messageOf(reason)}`;
    this.#warnOnce(SUBSCRIPTION_CODE, `${words}. Meanwhile ${SLOW_WORDS}.`);
  }

  #warnOnce(code: string, message: string): void {
    if (this.#warned.has(code)) return;
    this.#warned.add(code);
    warn(message, code);
  }

  async acquire(request: AcquireRequest, command: SentCommand): Promise<AcquireAnswer> {
    const { id, adopts, spec } = request;
    const { layout, keys, settings: { ttl, owner = "" }, weight } = spec;
    const reply = adopts !== undefined
      ? this.run(adopt, holdKeys(spec), [id, adopts, String(ttl), owner, String(weight)], command)
      : this.run(acquire[layout], keys, acquireArguments(request), command);
    this.load(release[layout]); // before it is needed under maxmemory or at the end of a process
    const answer = acquireAnswer(request, await reply);
    // Over a slow connection, a first renewal that has to be sent twice may come too late.
    if (now() - command.at > ttl / 6) this.load(renew);
    return answer;
  }

  async release(spec: StoredResource, id: string, command: SentCommand, late: boolean, again = false): Promise<Prior> {
    const purpose = late ? "late" : "";
    if (this.backend.cluster && again) return await this.#release(spec, id, purpose, command, holdKeys(spec));
    try {
      return await this.#release(spec, id, purpose, command);
    } catch (error) {
      if (!(error instanceof SlotMovingError)) throw error;
      const was = await this.#release(spec, id, purpose, command, holdKeys(spec));
      if (was === "unknown") throw error; // it may be in the queue
      return was;
    }
  }

  async releaseAll(spec: StoredResource, command: SentCommand): Promise<boolean> {
    return await this.#release(spec, "", "force", command) === "held";
  }

  async wake(spec: StoredResource): Promise<void> {
    await this.#release(spec, "", "wake").catch(() => {}); // they ask at their next heartbeat
  }

  /** @param keys All keys, or only the keys of a hold: then the queue is served as soon as the server allows it. */
  async #release(
    spec: StoredResource,
    id: string,
    purpose: ReleasePurpose,
    command?: SentCommand,
    keys: readonly string[] = spec.keys,
  ): Promise<Prior> {
    const { layout, settings } = spec;
    const channels = channelsOf(settings.prefix);
    const args = [id === "" ? "" : memberOf(id, spec), channels];
    if (purpose !== "") args.push(purpose);
    const { was, unfinished, isMute } = releaseAnswer(await this.run(release[layout], keys, args, command));
    if (isMute) this.warnSlow(`PUBLISH to its channels, ${channels}*`);
    // If this fails, the next waiter that asks serves the queue.
    if (unfinished) void this.#release(spec, "", "serve").catch(() => {});
    return was;
  }

  async renew(holds: readonly Renewal[], command: SentCommand): Promise<Renewed[]> {
    const keys = holds.flatMap(({ spec }) => holdKeys(spec));
    const args = holds.map(({ id, ttl, number, spec }) =>
      layoutCode(spec) + id + String(number).padStart(8, "0") + ttl
    );
    return renewedOf(await this.run(renew, keys, args, command), holds.length);
  }

  async verify(spec: StoredResource, id: string, command: SentCommand): Promise<number> {
    return timeLeftOf(await this.run(verify, holdKeys(spec), [layoutCode(spec) + id], command));
  }

  async inspect(spec: StoredResource, command: SentCommand): Promise<Inspection> {
    const found = new Map<string, Holder>(); // a page may show a holder again
    let first: Inspection | undefined;
    for (let next = "0"; next !== "";) {
      const [page, cursor] = inspectedPage(await this.run(inspect, spec.keys, [next, layoutCode(spec)], command));
      for (const holder of page.holders) found.set(holder.id, holder);
      first ??= page;
      next = cursor;
    }
    return { ...first!, holders: [...found.values()] };
  }
}

/** The layout as the scripts name it: m for a lock, w for a semaphore. */
function layoutCode({ layout }: StoredResource): string {
  return layout === "lock" ? "m" : "w";
}

/** The stored form of a caller. */
function memberOf(id: string, { weight, limit, settings: { owner = "" } }: StoredResource): string {
  return `${id} ${weight} ${limit} ${owner}`;
}

function acquireArguments({ id, waits, position, spec }: AcquireRequest): string[] {
  const { ttl, prefix } = spec.settings;
  const args = [memberOf(id, spec), String(ttl + IDLE_KEPT), channelsOf(prefix)];
  if (!waits || position > 0) args.push(waits ? String(position) : "");
  return args;
}

/** The keys that exist as long as a hold: its state, and the lives if there may be several holders. */
function holdKeys({ keys, layout }: StoredResource): readonly string[] {
  return keys.slice(0, layout === "lock" ? 1 : 2);
}
