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
    return [...this.#entries.keys()].filter((key) => this.#get(key) !== undefined);
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
    const value = this.#get(key);
    return value !== undefined && "members" in value ? value.members : new Map();
  }

  call(name: string, ...args: string[]): unknown {
    const [key = "", ...rest] = args;
    switch (name) {
      case "TIME":
        return [String(Math.floor(this.now / 1e6)), String(this.now % 1e6)];
      case "PUBLISH":
        this.published.push({ channel: key, message: rest[0]! });
        return Number(this.subscribers.has(key));
      case "PUBSUB":
        return [rest[0], Number(this.subscribers.has(rest[0]!))];
      case "DEL":
        return Number(this.#entries.delete(key));
      case "EXISTS":
        return Number(this.#get(key) !== undefined);
      case "PTTL": {
        const { until = -Infinity } = this.#get(key) === undefined ? {} : this.#entries.get(key)!;
        if (Math.abs(until) === Infinity) return until > 0 ? -1 : -2;
        return Math.ceil((until - this.now) / 1000);
      }
      case "PEXPIRE":
        if (this.#get(key) === undefined) return 0;
        this.#entries.get(key)!.until = this.now + Number(rest[0]) * 1000;
        return 1;
    }
    if (/^(L|RPUSH)/.test(name)) return this.#list(name, key, rest);
    if (/^Z/.test(name)) return this.#sortedSet(name, key, rest);
    return /^H/.test(name) ? this.#hash(name, key, rest) : this.#string(name, key, rest);
  }

  #get(key: string): Value | undefined {
    const entry = this.#entries.get(key);
    if (entry !== undefined && entry.until <= this.now) this.#entries.delete(key);
    return this.#entries.get(key)?.value;
  }

  #string(name: string, key: string, args: string[]): unknown {
    const value = this.#get(key);
    const text = value?.kind === "string" ? value.text : undefined;
    switch (name) {
      case "GET":
        return text ?? false;
      case "SET": {
        const until = args[1] === "KEEPTTL" ? this.#entries.get(key)!.until : this.now + Number(args[2]) * 1000;
        this.#entries.set(key, { value: { kind: "string", text: args[0]! }, until });
        return { ok: "OK" };
      }
      case "SETRANGE": {
        const at = Number(args[0]);
        const changed = text!.slice(0, at) + args[1] + text!.slice(at + args[1]!.length);
        this.#entries.set(key, { value: { kind: "string", text: changed }, until: this.#entries.get(key)!.until });
        return changed.length;
      }
    }
    throw unknown(name);
  }

  #list(name: string, key: string, args: string[]): unknown {
    const value = this.#get(key);
    const items = value?.kind === "list" ? value.items : [];
    const [from = 0, to = -1] = args.map(Number);
    const end = to < 0 ? items.length + to + 1 : to + 1;
    const begin = Math.max(0, from < 0 ? items.length + from : from);
    switch (name) {
      case "LLEN":
        return items.length;
      case "LINDEX":
        return items.at(from) ?? false;
      case "LRANGE":
        return items.slice(begin, Math.max(begin, end));
      case "LSET":
        items[begin] = args[1]!;
        break;
      case "LTRIM":
        items.splice(0, items.length, ...items.slice(begin, Math.max(begin, end)));
        break;
      case "RPUSH":
        if (value === undefined) this.#entries.set(key, { value: { kind: "list", items }, until: Infinity });
        items.push(...args);
        break;
      default:
        throw unknown(name);
    }
    if (items.length === 0) this.#entries.delete(key);
    return items.length;
  }

  #collection(key: string, kind: "hash" | "zset"): Map<string, string> {
    const value = this.#get(key);
    if (value !== undefined && "members" in value) return value.members;
    const members = new Map<string, string>();
    this.#entries.set(key, { value: { kind, members }, until: Infinity });
    return members;
  }

  #remove(key: string, fields: string[]): number {
    const members = this.members(key);
    const removed = fields.filter((field) => members.delete(field)).length;
    if (members.size === 0) this.#entries.delete(key);
    return removed;
  }

  #hash(name: string, key: string, args: string[]): unknown {
    const members = this.members(key);
    switch (name) {
      case "HGET":
        return members.get(args[0]!) ?? false;
      case "HMGET":
        return args.map((field) => members.get(field) ?? false);
      case "HEXISTS":
        return Number(members.has(args[0]!));
      case "HKEYS":
        return [...members.keys()];
      case "HSCAN":
        return ["0", [...members].flat()];
      case "HDEL":
        return this.#remove(key, args);
      case "HSET": {
        const fields = this.#collection(key, "hash");
        for (let i = 0; i < args.length; i += 2) fields.set(args[i]!, args[i + 1]!);
        return args.length / 2;
      }
    }
    throw unknown(name);
  }

  #sortedSet(name: string, key: string, args: string[]): unknown {
    const members = this.members(key);
    const sorted = () => [...members].sort(([a, x], [b, y]) => Number(x) - Number(y) || (a < b ? -1 : 1));
    switch (name) {
      case "ZCOUNT":
        return sorted().filter(([, score]) => Number(score) >= Number(args[0])).length;
      case "ZCARD":
        return members.size;
      case "ZMSCORE":
        return args.map((member) => members.get(member) ?? false);
      case "ZSCORE":
        return members.get(args[0]!) ?? false;
      case "ZREM":
        return this.#remove(key, args);
      case "ZADD": {
        const flag = /^[NX]X$/.test(args[0]!) ? args.shift() : "";
        const [score = "", id = ""] = args;
        const isNew = !members.has(id);
        if ((flag === "NX" && !isNew) || (flag === "XX" && isNew)) return 0;
        this.#collection(key, "zset").set(id, String(Number(score)));
        return Number(isNew);
      }
      case "ZRANGE": {
        const [from = 0, to = 0] = args.map(Number);
        const all = sorted();
        const slice = all.slice(from < 0 ? all.length + from : from, (to < 0 ? all.length + to : to) + 1);
        return args[2] === "WITHSCORES" ? slice.flat() : slice.map(([id]) => id);
      }
      case "ZRANGEBYSCORE":
        return sorted().filter(([, score]) => Number(score) <= Number(args[1])).slice(0, Number(args[4])).map(([id]) =>
          id
        );
    }
    throw unknown(name);
  }
}

function unknown(name: string): Error {
  return new Error(`this server in memory has no ${name}: add it to tests/redis/model/_redis.ts`);
}
