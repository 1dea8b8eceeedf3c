/**
 * The shapes of clients. Invariant: a client is recognized only for error messages, with the remedy; an adapter checks
 * the members that it needs.
 *
 * @module
 */

const A_MODULE = "the module of a client: pass the client that it makes, such as createClient() or new Redis()";
const A_PIPELINE = "a pipeline or transaction of a client: pass the client itself";
const A_FUNCTION =
  "a function or class: pass what it makes, such as createClient(), new RedisClient(url) or memoryBackend()";
const UPSTASH = "a client of @upstash/redis, which has no connection: use another client, or write a Backend for it";
/** Not quoted in an error: it may contain a password. */
const SERVER_URL = "the URL of a server: pass a client that connects to it";

/** Members that a value has or lacks ("!"), and its description with the remedy; the most specific shapes first. */
const shapes: readonly (readonly [members: string, description: string])[] = [
  ["then catch", "a promise: await it first"],
  ["createClient", A_MODULE],
  ["Redis Cluster", A_MODULE],
  ["evalsha eval onClose", "a backend, as adapters return it: pass it to the constructor as it is"],
  ["isPipeline", A_PIPELINE],
  ["execAsPipeline", A_PIPELINE],
  ["evalSha disconnect !destroy", "a client of npm:redis 4: install redis 5 or newer"],
  ["evalSha isOpen", "a client of npm:redis: use nodeRedis(client)"],
  ["evalsha duplicate status", "a client of npm:ioredis: use ioRedis(client)"],
  ["send_command", "a client of npm:redis 3 or older: install redis 5 or newer and use nodeRedis(client)"],
  ["send duplicate onclose", "a RedisClient of Bun: use bunRedis(client)"],
  ["evalsha sendCommand isClosed", "a client of jsr:@db/redis: use denoRedis(client)"],
  ["customCommand invokeScript", "a client of Valkey GLIDE, for which there is no adapter: write a Backend for it"],
  ["evalsha createScript autoPipelineExecutor", UPSTASH],
];

/** Describes a value passed instead of a client, with the remedy; undefined if it is unknown. */
export function recognize(client: unknown): string | undefined {
  if (typeof client === "string" && /:\/\/|@/.test(client)) return SERVER_URL;
  if ((typeof client !== "object" && typeof client !== "function") || client === null) return undefined;
  const [, description] = shapes.find(([members]) => hasMembers(client, members)) ?? [];
  return description ?? (typeof client === "function" ? A_FUNCTION : undefined);
}

function hasMembers(client: object, members: string): boolean {
  return members.split(" ").every((member) => member.startsWith("!") ? !(member.slice(1) in client) : member in client);
}

export function hasMethods(value: unknown, methods: readonly string[]): boolean {
  const members = Object(value) as Record<string, unknown>;
  return methods.every((method) => typeof members[method] === "function");
}
