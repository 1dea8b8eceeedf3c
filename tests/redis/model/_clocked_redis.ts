/** A redis-server whose scripts see the time of a test wherever they read or set one. */
import type { Backend } from "../../../lib/redis/mod.ts";
import { flushMicrotasks } from "../../_tools.ts";
import type { Server } from "../_server.ts";

/** Keys end by the test's clock: their ends are in a hash, and the server itself lets none expire. */
const clocked = (source: string): string => `
local server, now, published = redis, redis.call('GET', 'test:now') + 0, {}
local function exists(key)
  if server.call('EXISTS', key) == 1 then return true end
  server.call('HDEL', 'test:ends', key)
end
for _, key in ipairs(server.call('HKEYS', 'test:ends')) do
  if server.call('HGET', 'test:ends', key) + 0 <= now then server.call('DEL', key) end
  exists(key)
end
local function run(call, name, key, ...)
  if name == 'TIME' then return { string.format('%.0f', math.floor(now / 1e6)), string.format('%.0f', now % 1e6) } end
  if name == 'PUBLISH' then
    published[#published + 1] = ...
    return 1
  end
  if name == 'PTTL' then
    local ends = exists(key) and server.call('HGET', 'test:ends', key)
    return ends and math.ceil((ends - now) / 1000) or exists(key) and -1 or -2
  end
  local answer, ms = 1, ...
  if name == 'SET' then
    local text, _, px = ...
    answer, ms = call(name, key, text), px
  elseif name ~= 'PEXPIRE' then
    answer, ms = call(name, key, ...), nil
  end
  if exists(key) and ms then server.call('HSET', 'test:ends', key, string.format('%.0f', now + ms * 1000)) end
  return answer
end
local redis = {
  call = function(...) return run(server.call, ...) end,
  pcall = function(...) return run(server.pcall, ...) end,
}
local function script()
${source}
end
return { script(), published }
`;

export class ClockedRedis implements Backend {
  readonly #server: Server;
  readonly #loaded = new Map<string, string>();
  readonly #running = new Set<Promise<unknown>>();
  /** What scripts have published. */
  readonly published: string[] = [];

  constructor(server: Server) {
    this.#server = server;
  }

  evalsha(): Promise<never> {
    return Promise.reject(new Error("NOSCRIPT No matching script."));
  }

  eval(source: string, keys: string[], args: string[]): Promise<unknown> {
    const running = this.#run(source, keys, args).finally(() => this.#running.delete(running));
    this.#running.add(running);
    return running;
  }

  async #run(source: string, keys: string[], args: string[]): Promise<unknown> {
    const sha = this.#loaded.get(source) ?? String(await this.#server.send("SCRIPT", "LOAD", clocked(source)));
    this.#loaded.set(source, sha);
    const [, answer] = await Promise.all([
      this.#server.send("SET", "test:now", Math.round(Date.now() * 1000)),
      this.#server.send("EVALSHA", sha, keys.length, ...keys, ...args),
    ]);
    const [result, published] = answer as [unknown, string[]];
    this.published.push(...published);
    return result;
  }

  /** Resolves when no script runs, nor one that followed from it. */
  async settled(): Promise<void> {
    while (this.#running.size > 0) {
      await Promise.allSettled(this.#running);
      await flushMicrotasks();
    }
  }

  /** The keys that the scripts have left. */
  async keys(): Promise<readonly string[]> {
    const keys = await this.#server.send("KEYS", "*") as string[];
    return keys.filter((key) => !key.startsWith("test:"));
  }
}
