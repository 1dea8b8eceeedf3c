/**
 * Recognizes clients by their shape: the library and version, and the remedy. Invariant: used only for error messages;
 * an adapter checks the members that it needs.
 *
 * @module
 */

/** A value passed instead of a client. */
interface Recognized {
  /** The client's library, after "got". */
  readonly is: string;
  readonly remedy: string;
}

/** The members of a node-redis 4 client; version 5 added `destroy`. */
const NODE_REDIS_4 = "evalSha disconnect !destroy";

/** Members that a value has or lacks ("!"), its description, and the remedy; the most specific shapes first. */
const libraries: readonly (readonly [members: string, is: string, remedy: string])[] = [
  ["then catch", "a promise", "await it first"],
  ["createClient", "the module of a client", "pass the client that it makes, such as createClient() or new Redis()"],
  ["Redis Cluster", "the module of a client", "pass the client that it makes, such as createClient() or new Redis()"],
  ["evalsha eval onClose", "a backend, as adapters return it", "pass it to the constructor as it is"],
  ["isPipeline", "a pipeline or transaction of a client", "pass the client itself"],
  ["execAsPipeline", "a pipeline or transaction of a client", "pass the client itself"],
  [NODE_REDIS_4, "a client of npm:redis 4", "install redis 5 or newer"],
  ["evalSha isOpen", "a client of npm:redis", "use nodeRedis(client)"],
  ["evalsha duplicate status", "a client of npm:ioredis", "use ioRedis(client)"],
  ["send_command", "a client of npm:redis 3 or older", "install redis 5 or newer and use nodeRedis(client)"],
  ["send duplicate onclose", "a RedisClient of Bun", "use bunRedis(client)"],
  ["evalsha sendCommand isClosed", "a client of jsr:@db/redis", "use denoRedis(client)"],
  [
    "customCommand invokeScript",
    "a client of Valkey GLIDE, for which there is no adapter",
    "write a Backend for it",
  ],
  [
    "evalsha createScript autoPipelineExecutor",
    "a client of @upstash/redis, which has no connection",
    "use another client, or write a Backend for it",
  ],
];

const A_FUNCTION: Recognized = {
  is: "a function or class",
  remedy: "pass what it makes, such as createClient(), new RedisClient(url) or memoryBackend()",
};

/** Not quoted in an error: it may contain a password. */
const SERVER_URL: Recognized = { is: "the URL of a server", remedy: "pass a client that connects to it" };

/** Whether `client` is a client of node-redis 4. */
export function isNodeRedis4(client: object): boolean {
  return hasMembers(client, NODE_REDIS_4);
}

/** Describes a value passed instead of a client, with the remedy; undefined if it is unknown. */
export function recognize(client: unknown): Recognized | undefined {
  if (typeof client === "string" && /:\/\/|@/.test(client)) return SERVER_URL;
  if ((typeof client !== "object" && typeof client !== "function") || client === null) return undefined;
  const known = libraries.find(([members]) => hasMembers(client, members));
  if (known !== undefined) return { is: known[1], remedy: known[2] };
  return typeof client === "function" ? A_FUNCTION : undefined;
}

function hasMembers(client: object, members: string): boolean {
  return members.split(" ").every((member) => member.startsWith("!") ? !(member.slice(1) in client) : member in client);
}
