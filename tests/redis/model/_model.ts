/**
 * Every sequence of steps of a few clients over the real scripts, up to a depth, with a bounded number of faults: a crash,
 * a stopped process, a lost subscription, a lost reply, a lost push, a failover with and without the last write. After
 * each step: the weights of the clients that trust their hold never exceed the limit, except that holds from before a
 * lossy failover do not count; a token belongs to one client and is larger than all before; no live waiter that can be
 * reached is passed over; the weight in use is that of the holders. After each sequence, a fair run without faults grants every live waiter.
 */
import { keysOf, type Kind } from "../../../lib/redis/options.ts";
import { channelsOf, ID_LENGTH, PROCESS_LENGTH, type Script } from "../../../lib/redis/scripts/script.ts";
import { IDLE_KEPT } from "../../../lib/redis/times.ts";
import { evaluate } from "./_lua.ts";
import { MemoryRedis } from "./_redis.ts";

const CHANNELS = channelsOf("interlock:");
const TTL = 3000;
const PAUSE = 1600;
const keysOfKind = (kind: Kind) => keysOf("interlock:", kind, "a");
const KEYS = { lock: keysOfKind("lock"), semaphore: keysOfKind("semaphore") };

interface Client {
  readonly id: string;
  readonly weight: number;
  phase: "idle" | "waiting" | "holding" | "releasing" | "done" | "dead";
  /** 0 before the first answer. */
  position: number;
  /** When the last command with an answer was sent, in µs. */
  heard: number;
  /** The time until which it trusts its hold, in µs. */
  until: number;
  /** Lossy failovers before its hold began. */
  epoch: number;
}

/** The scripts of one layout. */
export interface Family {
  readonly layout: "lock" | "semaphore";
  readonly acquire: Script;
  readonly release: Script;
  readonly adopt: Script;
}

export interface Model {
  readonly family: Family;
  readonly limit: number;
  readonly weights: readonly number[];
  readonly depth: number;
  readonly faults: number;
  /** Whether clients take over the holds of others with the same weight. */
  readonly adopts?: boolean;
  /** Whether the server fails over. */
  readonly failover?: boolean;
  /** How much time passes in a step, in ms. */
  readonly pause?: number;
}

class World {
  readonly model: Model;
  readonly redis: MemoryRedis;
  /** Before the last script: the data of a replica that has missed its write. */
  before: MemoryRedis | undefined;
  epoch: number;
  readonly clients: Client[];
  readonly tokens: Map<number, string>;
  readonly trail: readonly string[];
  readonly faults: number;

  constructor(model: Model, from?: World, step = "", faults = 0) {
    this.model = model;
    this.redis = from?.redis.clone() ?? new MemoryRedis();
    this.before = from?.before; // never changed
    this.epoch = from?.epoch ?? 0;
    this.clients = from?.clients.map((client) => ({ ...client })) ??
      model.weights.map(newClient);
    this.tokens = new Map(from?.tokens);
    this.trail = from === undefined ? [] : [...from.trail, step];
    this.faults = (from?.faults ?? 0) + faults;
    if (from === undefined) { for (const { id } of this.clients) this.redis.subscribers.add(channelOf(id)); }
  }

  get key(): string {
    return `${this.redis}${this.before ?? ""}${this.epoch}${JSON.stringify(this.clients)}${this.faults}`;
  }

  assert(holds: boolean, text: string): void {
    if (!holds) throw new Error(`${text} after: ${this.trail.join(", ")}\n${this.redis}`);
  }

  /** Runs a script, delivers or loses its messages, and checks what it did. */
  #run(script: "acquire" | "release", client: Client, args: string[], pushLost: boolean): number[] {
    const { family } = this.model;
    const keys = KEYS[family.layout];
    const places = new Map(this.redis.members(keys[2]));
    const me = this.#member(client);
    if (script === "acquire" && client.position !== 0 && !places.has(me)) places.set(me, args[3]!); // it comes back to its position
    const before = [...places].sort(([, a], [, b]) => Number(a) - Number(b)).map(([id]) => id);
    const lives = new Map(this.redis.members(keys[1]));
    if (this.model.failover) this.before = this.redis.clone();
    const answer = evaluate(this.redis, family[script], keys, args);
    const granted = new Map<string, number>();
    if (script === "acquire" && answer[0] === 1) granted.set(client.id, answer[1]!);
    const heard: Client[] = [];
    for (const { message } of this.redis.published.splice(0)) {
      const [id = "", fence] = message.split(" ");
      granted.set(id, Number(fence));
      const other = this.clients.find((one) => one.id === id)!;
      if (!pushLost && this.redis.receives(channelOf(id)) && other.position !== 0) heard.push(other);
    }
    const fresh = new Map([...granted].filter(([, fence]) => !this.tokens.has(fence)));
    for (const [id, fence] of [...granted].sort(([, a], [, b]) => a - b)) this.#token(fence, id);
    for (const other of heard) if (other.phase === "waiting") this.#hold(other, other.heard + TTL * 1000);
    this.#inOrder(before, lives, fresh);
    this.#weighed();
    return answer;
  }

  /** The weight in use is that of the holders, and every key has a time to live. */
  #weighed(): void {
    for (const key of this.redis.keys) this.assert(Number(this.redis.call("PTTL", key)) > 0, `${key} has no end`);
    const state = this.redis.members(KEYS.semaphore[0]);
    const holds = [...state].filter(([field]) => field.length === ID_LENGTH);
    const sum = holds.reduce((sum, [, hold]) => sum + Number(hold.slice(24).split(" ")[1]), 0);
    this.assert(Number(state.get("n") ?? 0) === sum, `${state.get("n")} in use, of holders ${sum}`);
  }

  /** No waiter whose life lasts was passed over by a grant. */
  #inOrder(before: string[], lives: Map<string, string>, granted: Map<string, number>): void {
    let passed: string | undefined;
    const ids = new Set([...before.map((member) => member.slice(0, ID_LENGTH)), ...granted.keys()]); // newcomers are last
    const memberOf = (id: string) => before.find((member) => member.startsWith(id)) ?? "";
    for (const id of ids) {
      const client = this.clients.find((one) => one.id === id)!;
      if (granted.has(id)) this.assert(passed === undefined, `${passed} was passed over by ${id}`);
      else if (Number(lives.get(memberOf(id)) ?? 0) > this.redis.now && client.phase === "waiting") passed ??= id;
    }
  }

  #token(fence: number, id: string): void {
    const owner = this.tokens.get(fence);
    this.assert(owner === undefined || owner === id, `${fence} was given to ${owner} and to ${id}`);
    if (owner === undefined) {
      this.assert(fence > Math.max(0, ...this.tokens.keys()), `${fence} is no larger than a token before`);
    }
    this.tokens.set(fence, id);
  }

  #hold(client: Client, until: number): void {
    client.phase = "holding";
    client.until = until;
    client.epoch = this.epoch;
    const holding = this.clients.filter(({ phase, until, epoch }) =>
      phase === "holding" && until > this.redis.now && epoch === this.epoch
    );
    const weight = holding.reduce((sum, one) => sum + one.weight, 0);
    this.assert(weight <= this.model.limit, `${holding.map(({ id }) => id)} hold together`);
  }

  ask(client: Client, { pushLost = false, answerLost = false, twice = false } = {}): void {
    const { position: known } = client;
    const args = [this.#member(client), TTL + IDLE_KEPT, CHANNELS, ...known === 0 ? [] : [known]].map(String);
    const sentAt = this.redis.now;
    const first = this.#run("acquire", client, args, pushLost);
    const [code, position = 0] = twice ? this.#run("acquire", client, args, pushLost) : first;
    if (client.phase === "idle") client.phase = "waiting";
    if (answerLost || client.phase === "holding") return;
    client.heard = sentAt;
    if (code === 1) return this.#hold(client, sentAt + TTL * 1000);
    this.assert(code === 0, `the answer is ${code}`);
    client.position = position;
  }

  /** A command of a call that is over comes late. It may take a position or a hold for one ttl, which no client trusts. */
  comesLate(client: Client): void {
    this.#run("acquire", client, [this.#member(client), TTL + IDLE_KEPT, CHANNELS].map(String), false);
  }

  release(client: Client, { pushLost = false, answerLost = false } = {}): void {
    client.phase = "releasing"; // from here on it trusts no hold and sends no acquire
    this.#run("release", client, [this.#member(client), CHANNELS, "late"], pushLost);
    if (!answerLost) client.phase = "done"; // else it releases again
  }

  #member({ id, weight }: Client): string {
    return `${id} ${weight} ${this.model.limit} `;
  }

  /** An idle client takes over a hold, whose first holder releases it some time later. */
  adopt(client: Client, from: Client, { answerLost = false, twice = false } = {}): void {
    const { family } = this.model;
    const args = [client.id, from.id, TTL, "", from.weight].map(String);
    const sentAt = this.redis.now;
    const known = from.until > this.redis.now && from.epoch === this.epoch;
    if (this.model.failover) this.before = this.redis.clone();
    const keys = KEYS[family.layout].slice(0, family.layout === "lock" ? 1 : 2);
    for (let runs = twice ? 2 : 1; runs > 0; runs--) {
      const [code, fence = 0] = evaluate(this.redis, family.adopt, keys, args);
      this.#weighed();
      this.assert(code === Number(known), `${client.id} adopts ${from.id}: ${code}`);
      if (code !== 1) continue;
      this.assert(
        [from.id, client.id].includes(this.tokens.get(fence) ?? ""),
        `${fence} is not the token of ${from.id}`,
      );
      this.tokens.set(fence, client.id);
      from.phase = "releasing"; // when it finds out it is lost
      if (answerLost) client.phase = "releasing";
      else this.#hold(client, sentAt + TTL * 1000);
    }
  }

  #failOverWithoutLastWrite(): void {
    this.redis.failOver(this.before);
    this.before = undefined;
    this.epoch++;
  }

  /** A fair run without faults. */
  settle(): void {
    for (let round = 0; round < 8; round++) {
      for (const client of this.clients) {
        if (client.phase === "holding" || client.phase === "releasing") this.release(client);
        else if (client.phase === "waiting") this.ask(client);
      }
      this.redis.now += 1_100_000;
    }
    const left = this.clients.filter(({ phase }) => phase === "waiting");
    this.assert(left.length === 0, `${left.map(({ id }) => id)} waits forever`);
  }

  /** All steps that are possible here. */
  *steps(): Iterable<[name: string, faults: number, step: (world: World) => void]> {
    yield ["time", 0, (world) => world.redis.now += (this.model.pause ?? PAUSE) * 1000];
    if (this.model.failover) {
      yield ["failover", 1, (world) => world.redis.failOver()];
      if (this.before !== undefined) {
        yield ["failover without the last write", 1, (world) => world.#failOverWithoutLastWrite()];
      }
    }
    for (let i = 0; i < this.clients.length; i++) {
      const { phase, id } = this.clients[i]!;
      const on = (step: (world: World, client: Client) => void) => (world: World) => step(world, world.clients[i]!);
      if (phase === "done") yield [`${i} asks late`, 1, on((world, client) => world.comesLate(client))];
      if (phase === "done" || phase === "dead") continue;
      for (const fault of ["", "pushLost", "answerLost", "twice"]) {
        const how = fault === "" ? {} : { [fault]: true };
        const name = fault === "" ? "" : ` (${fault})`;
        if (phase !== "holding" && phase !== "releasing") {
          yield [`${i} asks${name}`, Number(fault !== ""), on((world, client) => world.ask(client, how))];
        }
        if (phase !== "idle" && fault !== "twice") {
          yield [`${i} releases${name}`, Number(fault !== ""), on((world, client) => world.release(client, how))];
        }
      }
      if (phase === "idle") {
        if (this.model.adopts) yield* this.#adoptions(i);
        continue;
      }
      yield [`${i} is killed`, 1, on((_, client) => client.phase = "dead")];
      const channel = channelOf(id);
      if (this.redis.receives(channel)) {
        yield [`${i} loses its subscription`, 1, (world) => world.redis.unsubscribe(channel)];
      } else {
        yield [`${i} subscribes again`, 0, (world) => world.redis.subscribers.add(channel)];
      }
    }
  }

  *#adoptions(i: number): Iterable<[name: string, faults: number, step: (world: World) => void]> {
    for (const [j, { phase, weight }] of this.clients.entries()) {
      if (phase !== "holding" || weight !== this.clients[i]!.weight) continue;
      for (const fault of ["", "answerLost", "twice"]) {
        const how = fault === "" ? {} : { [fault]: true };
        yield [
          `${i} adopts ${j} ${fault}`,
          Number(fault !== ""),
          (world) => world.adopt(world.clients[i]!, world.clients[j]!, how),
        ];
      }
    }
  }
}

function newClient(weight: number, index: number): Client {
  const id = `process${index}00000${"0".repeat(7)}${index}`;
  return { id, weight, phase: "idle", position: 0, heard: 0, until: 0, epoch: 0 };
}

function channelOf(id: string): string {
  return CHANNELS + id.slice(0, PROCESS_LENGTH);
}

/** Runs the named steps, then a fair run. Throws at a violation. */
export function replay(model: Model, names: readonly string[]): void {
  let world = new World(model);
  for (const name of names) {
    const [, faults, step] = [...world.steps()].find(([one]) => one === name)!;
    world = new World(model, world, name, faults);
    step(world);
  }
  world.settle();
}

/** Explores everything. Throws at the first violation, with the steps that lead to it; returns the number of states. */
export function explore(model: Model): number {
  const seen = new Map<string, number>();
  const visit = (world: World) => {
    const depth = world.trail.length;
    const { key } = world;
    if ((seen.get(key) ?? Infinity) <= depth) return;
    seen.set(key, depth);
    new World(model, world, "fair run").settle();
    if (depth === model.depth) return;
    for (const [name, faults, step] of world.steps()) {
      if (world.faults + faults > model.faults) continue;
      const next = new World(model, world, name, faults);
      step(next);
      visit(next);
    }
  };
  visit(new World(model));
  return seen.size;
}
