/** The part of Redis that the scripts use, in memory, with a clock and subscribers that the test controls. */

type Value =
  | { kind: "string"; text: string }
  | { kind: "hash" | "zset"; members: Map<string, string> }
  | { kind: "list"; items: string[] };

interface Entry {
  readonly value: Value;
  /** In µs; Infinity without a time to live. */
  until: number;
}

export interface Published {
  readonly channel: string;
  readonly message: string;
}

type Command = (redis: MemoryRedis, key: string, ...args: string[]) => unknown;

export class MemoryRedis {
  /** In µs. */
  now = 1_700_000_000_000_000;
  #entries = new Map<string, Entry>();
  /** Channels with a subscriber here, and those with one on a replica: it receives all messages and is not counted. */
  readonly subscribers = new Set<string>();
  readonly onReplica = new Set<string>();
  readonly published: Published[] = [];

  /** A copy with the same contents. */
  clone(): MemoryRedis {
    const copy = new MemoryRedis();
    copy.now = this.now;
    for (const [key, { value, until }] of this.#entries) {
      const same = "members" in value ? { ...value, members: new Map(value.members) } : structuredClone(value);
      copy.#entries.set(key, { value: same, until });
    }
    for (const channel of this.subscribers) copy.subscribers.add(channel);
    for (const channel of this.onReplica) copy.onReplica.add(channel);
    return copy;
  }

  /** A replica has been promoted that has the data of `replica`; the subscribers stay on the old node, a replica now. */
  failOver(replica: MemoryRedis = this): void {
    this.#entries = replica.clone().#entries;
    this.now += 1000;
    for (const channel of this.subscribers) this.onReplica.add(channel);
    this.subscribers.clear();
  }

  /** Everything is lost, as after a restart without persistence. */
  flush(): void {
    this.#entries.clear();
  }

  get keys(): string[] {
    return [...this.#entries.keys()].filter((key) => this.#entry(key) !== undefined);
  }

  /** Hands a key over to another node. */
  move(key: string, target: MemoryRedis): void {
    target.#entries.set(key, this.#entries.get(key)!);
    this.#entries.delete(key);
  }

  receives(channel: string): boolean {
    return this.subscribers.has(channel) || this.onReplica.has(channel);
  }

  unsubscribe(channel: string): void {
    this.subscribers.delete(channel);
    this.onReplica.delete(channel);
  }

  /** All contents as text; times relative to the clock. */
  toString(): string {
    const entries = [...this.#entries].filter(([, { until }]) => until > this.now).sort(([a], [b]) => a < b ? -1 : 1);
    const texts = entries.map(([key, { value }]) => [key, "members" in value ? [...value.members] : value]);
    return JSON.stringify([this.now, texts, [...this.subscribers].sort(), [...this.onReplica].sort()]);
  }

  members(key: string): Map<string, string> {
    const value = this.#entry(key)?.value;
    return value !== undefined && "members" in value ? value.members : new Map();
  }

  call(name: string, key = "", ...args: string[]): unknown {
    const command = MemoryRedis.#commands[name];
    if (command === undefined) {
      throw new Error(`this server in memory has no ${name}: add it to tests/redis/model/_redis.ts`);
    }
    return command(this, key, ...args);
  }

  static readonly #commands: Readonly<Record<string, Command>> = {
    TIME: ({ now }) => [String(Math.floor(now / 1e6)), String(now % 1e6)],
    PUBLISH: ({ published, subscribers }, channel, message) => {
      published.push({ channel, message });
      return Number(subscribers.has(channel));
    },
    PUBSUB: ({ subscribers }, _, channel) => [channel, Number(subscribers.has(channel))],

    DEL: (redis, key) => Number(redis.#entries.delete(key)),
    EXISTS: (redis, key) => Number(redis.#entry(key) !== undefined),
    PTTL: (redis, key) => {
      const { until = -Infinity } = redis.#entry(key) ?? {};
      if (Math.abs(until) === Infinity) return until > 0 ? -1 : -2;
      return Math.ceil((until - redis.now) / 1000);
    },
    PEXPIRE: (redis, key, ms) => {
      const entry = redis.#entry(key);
      if (entry !== undefined) entry.until = redis.now + Number(ms) * 1000;
      return Number(entry !== undefined);
    },

    GET: (redis, key) => redis.#text(key) ?? false,
    SET: (redis, key, text, how, ms) => {
      const until = how === "KEEPTTL" ? redis.#entry(key)!.until : redis.now + Number(ms) * 1000;
      redis.#entries.set(key, { value: { kind: "string", text }, until });
      return { ok: "OK" };
    },
    SETRANGE: (redis, key, at, part) => {
      const text = redis.#text(key)!;
      const changed = text.slice(0, Number(at)) + part + text.slice(Number(at) + part.length);
      redis.call("SET", key, changed, "KEEPTTL");
      return changed.length;
    },

    LLEN: (redis, key) => redis.#items(key).length,
    LINDEX: (redis, key, at) => redis.#items(key).at(Number(at)) ?? false,
    LRANGE: (redis, key, from, to) => part(redis.#items(key), from, to),
    LSET: (redis, key, at, text) => redis.#setItems(key, redis.#items(key).with(Number(at), text)),
    LTRIM: (redis, key, from, to) => redis.#setItems(key, part(redis.#items(key), from, to)),
    RPUSH: (redis, key, ...texts) => redis.#setItems(key, [...redis.#items(key), ...texts]),

    HGET: (redis, key, field) => redis.members(key).get(field) ?? false,
    HMGET: (redis, key, ...fields) => fields.map((field) => redis.members(key).get(field) ?? false),
    HEXISTS: (redis, key, field) => Number(redis.members(key).has(field)),
    HKEYS: (redis, key) => [...redis.members(key).keys()],
    HSCAN: (redis, key) => ["0", [...redis.members(key)].flat()],
    HDEL: (redis, key, ...fields) => redis.#remove(key, fields),
    HSET: (redis, key, ...args) => {
      const fields = redis.#collection(key, "hash");
      for (let i = 0; i < args.length; i += 2) fields.set(args[i]!, args[i + 1]!);
      return args.length / 2;
    },

    ZCOUNT: (redis, key, least) =>
      [...redis.members(key).values()].filter((score) => Number(score) >= Number(least)).length,
    ZCARD: (redis, key) => redis.members(key).size,
    ZMSCORE: (redis, key, ...members) => members.map((member) => redis.members(key).get(member) ?? false),
    ZSCORE: (redis, key, member) => redis.members(key).get(member) ?? false,
    ZREM: (redis, key, ...members) => redis.#remove(key, members),
    ZADD: (redis, key, ...args) => {
      const flag = /^[NX]X$/.test(args[0]!) ? args.shift() : "";
      const [score = "", id = ""] = args;
      const isNew = !redis.members(key).has(id);
      if ((flag === "NX" && !isNew) || (flag === "XX" && isNew)) return 0;
      redis.#collection(key, "zset").set(id, String(Number(score)));
      return Number(isNew);
    },
    ZRANGE: (redis, key, from, to, withScores) => {
      const found = part(redis.#sorted(key), from, to);
      return withScores === "WITHSCORES" ? found.flat() : found.map(([id]) => id);
    },
    ZRANGEBYSCORE: (redis, key, _least, most, _limit, _offset, count) => {
      const found = redis.#sorted(key).filter(([, score]) => Number(score) <= Number(most));
      return found.slice(0, Number(count)).map(([id]) => id);
    },
  };

  #entry(key: string): Entry | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined || entry.until > this.now) return entry;
    this.#entries.delete(key);
    return undefined;
  }

  #text(key: string): string | undefined {
    const value = this.#entry(key)?.value;
    return value?.kind === "string" ? value.text : undefined;
  }

  #items(key: string): readonly string[] {
    const value = this.#entry(key)?.value;
    return value?.kind === "list" ? value.items : [];
  }

  #setItems(key: string, items: string[]): number {
    const { until = Infinity } = this.#entry(key) ?? {};
    if (items.length === 0) this.#entries.delete(key);
    else this.#entries.set(key, { value: { kind: "list", items }, until });
    return items.length;
  }

  #collection(key: string, kind: "hash" | "zset"): Map<string, string> {
    const value = this.#entry(key)?.value;
    if (value !== undefined && "members" in value) return value.members;
    const members = new Map<string, string>();
    this.#entries.set(key, { value: { kind, members }, until: Infinity });
    return members;
  }

  #sorted(key: string): [member: string, score: string][] {
    return [...this.members(key)].sort(([a, x], [b, y]) => Number(x) - Number(y) || (a < b ? -1 : 1));
  }

  #remove(key: string, fields: string[]): number {
    const members = this.members(key);
    const removed = fields.filter((field) => members.delete(field)).length;
    if (members.size === 0) this.#entries.delete(key);
    return removed;
  }
}

/** From one place to another, both included; those below 0 count from the end. */
function part<T>(all: readonly T[], from: string, to: string): T[] {
  const [begin, last] = [from, to].map(Number).map((at) => at < 0 ? all.length + at : at) as [number, number];
  return all.slice(Math.max(0, begin), Math.max(0, last + 1));
}
