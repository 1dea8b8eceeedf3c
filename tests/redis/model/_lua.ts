/** Runs the real scripts in a Lua interpreter, against a Redis in memory. */
import { createRequire } from "node:module";
import type { Script } from "../../../lib/redis/scripts/script.ts";
import type { MemoryRedis } from "./_redis.ts";

/** The part of npm:fengari that is used; it has no types. A state and its strings are opaque. */
interface Fengari {
  readonly lua: Record<string, (...args: unknown[]) => number> & { LUA_REGISTRYINDEX: number };
  readonly lauxlib: Record<string, (...args: unknown[]) => unknown>;
  readonly lualib: Record<string, (...args: unknown[]) => unknown>;
  to_luastring(text: string): unknown;
  to_jsstring(text: unknown): string;
}

const { lua, lauxlib, lualib, to_luastring: encode, to_jsstring: decode } = createRequire(import.meta.url)(
  "fengari",
) as Fengari;

const state: unknown = lauxlib.luaL_newstate!();
lualib.luaL_openlibs!(state);
let redis: MemoryRedis;
let named: readonly string[];

// In Redis, which has Lua 5.1, whole numbers have no fraction as text.
run("unpack = table.unpack", 0);
for (
  const [table, functions] of Object.entries({
    redis: { call: callRedis, pcall: pcallRedis },
    cmsgpack: { pack, unpack },
    cjson: { decode: parse },
  })
) {
  lua.lua_newtable!(state);
  for (const [name, fn] of Object.entries(functions)) {
    lua.lua_pushcfunction!(state, fn);
    lua.lua_setfield!(state, -2, encode(name));
  }
  lua.lua_setglobal!(state, encode(table));
}

const compiled = new Map<Script, number>();

/** Runs a script and returns its numbers; a token alone is that of a grant. */
export function evaluate(on: MemoryRedis, script: Script, keys: readonly string[], args: readonly string[]): number[] {
  const numbers = [reply(on, script, keys, args)].flat().map(Number);
  return numbers.length === 1 && numbers[0]! >= 1e15 ? [1, ...numbers] : numbers;
}

/** Runs a script and returns its reply. */
export function reply(on: MemoryRedis, script: Script, keys: readonly string[], args: readonly string[]): unknown {
  redis = on;
  named = keys;
  setGlobal("KEYS", keys);
  setGlobal("ARGV", args);
  let reference = compiled.get(script);
  if (reference === undefined) {
    if (lauxlib.luaL_loadstring!(state, encode(script.source)) !== 0) throw new Error(lastError());
    reference = lauxlib.luaL_ref!(state, lua.LUA_REGISTRYINDEX) as number;
    compiled.set(script, reference);
  }
  lua.lua_rawgeti!(state, lua.LUA_REGISTRYINDEX, reference);
  if (lua.lua_pcall!(state, 0, 1, 0) !== 0) {
    const error = new Error(lastError());
    lua.lua_settop!(state, 0);
    throw error;
  }
  const answer = read(-1);
  lua.lua_settop!(state, 0);
  return answer;
}

function run(source: string, results: number): void {
  if (lauxlib.luaL_loadstring!(state, encode(source)) !== 0) throw new Error(lastError());
  if (lua.lua_pcall!(state, 0, results, 0) !== 0) throw new Error(lastError());
}

function lastError(): string {
  return decode(lua.lua_tolstring!(state, -1));
}

/** Commands without a key. */
export const KEYLESS: ReadonlySet<string> = new Set(["TIME", "PUBLISH", "PUBSUB"]);

function callRedis(): number {
  try {
    push(call());
  } catch (error) {
    lauxlib.luaL_where!(state, 1);
    const line = /:(\d+): $/.exec(lastError())?.[1];
    lua.lua_pushstring!(state, encode(`${(error as Error).message} script: f_1, on @user_script:${line}.`));
    return lua.lua_error!(state);
  }
  return 1;
}

function pcallRedis(): number {
  try {
    push(call());
  } catch (error) {
    push({ err: (error as Error).message });
  }
  return 1;
}

/** Packs as JSON, which is text; MessagePack is bytes. */
function pack(): number {
  push(JSON.stringify(Array.from({ length: lua.lua_gettop!(state) }, (_, i) => read(i + 1))));
  return 1;
}

function unpack(): number {
  const values = JSON.parse(read(1) as string) as unknown[];
  values.forEach(push);
  return values.length;
}

function parse(): number {
  push(JSON.parse(read(1) as string));
  return 1;
}

/** Runs the command on the stack. In a cluster, a script may use the keys that it names, and no others. */
function call(): unknown {
  const count = lua.lua_gettop!(state);
  const parts = Array.from({ length: count }, (_, i) => {
    const index = i + 1;
    const isNumber = lua.lua_type!(state, index) === 3;
    return isNumber ? String(lua.lua_tonumber!(state, index)) : decode(lua.lua_tolstring!(state, index));
  });
  const [name = "", ...rest] = parts;
  if (!KEYLESS.has(name) && !named.includes(rest[0]!)) throw new Error(`${name} uses ${rest[0]}, which is not named`);
  return redis.call(name, ...rest);
}

function setGlobal(name: string, list: readonly string[]): void {
  push(list);
  lua.lua_setglobal!(state, encode(name));
}

function push(value: unknown): void {
  if (typeof value === "number") lua.lua_pushnumber!(state, value);
  else if (typeof value === "string") lua.lua_pushstring!(state, encode(value));
  else if (typeof value === "boolean") lua.lua_pushboolean!(state, value);
  else if (Array.isArray(value)) {
    lua.lua_newtable!(state);
    value.forEach((item, i) => {
      push(item);
      lua.lua_rawseti!(state, -2, i + 1);
    });
  } else {
    lua.lua_newtable!(state);
    for (const [key, item] of Object.entries(value as object)) {
      push(item);
      lua.lua_setfield!(state, -2, encode(key));
    }
  }
}

function read(index: number): unknown {
  const type = lua.lua_type!(state, index);
  if (type === 3) return lua.lua_tonumber!(state, index);
  if (type === 1) return Boolean(lua.lua_toboolean!(state, index));
  if (type !== 5) return decode(lua.lua_tolstring!(state, index));
  const list: unknown[] = [];
  const length = lua.lua_rawlen!(state, index);
  for (let i = 1; i <= length; i++) {
    lua.lua_rawgeti!(state, index, i);
    list.push(read(-1));
    lua.lua_settop!(state, -2);
  }
  return list;
}
