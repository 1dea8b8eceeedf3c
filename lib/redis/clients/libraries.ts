/**
 * Clients by their shape: the library and version that made one, and the remedy. Invariant: used only for the words of an
 * error; an adapter asks for the members that it needs.
 *
 * @module
 */

/** A value that is passed in place of a client. */
interface Recognized {
  /** The client's library, after "got". */
  readonly is: string;
  /** The remedy. */
  readonly remedy: string;
}

interface Library extends Recognized {
  readonly matches: (has: (member: string) => boolean, client: Record<string, unknown>) => boolean;
}

/** The most specific shapes first. */
const libraries: readonly Library[] = [
  {
    is: "a promise",
    remedy: "await it first",
    matches: (has) => has("then") && has("catch"),
  },
  {
    is: "the module of a client",
    remedy: "pass the client that it makes, such as createClient() or new Redis()",
    matches: (has) => has("createClient") || (has("Redis") && has("Cluster")),
  },
  {
    is: "a backend, as adapters return it",
    remedy: "pass it to the constructor as it is",
    matches: (has) => has("evalsha") && has("eval") && has("onClose"),
  },
  {
    is: "a pipeline or transaction of a client",
    remedy: "pass the client itself",
    matches: (has) => has("isPipeline") || has("execAsPipeline"),
  },
  {
    is: "a client of npm:redis 4",
    remedy: "install redis 5 or newer",
    matches: isNodeRedis4,
  },
  { is: "a client of npm:redis", remedy: "use nodeRedis(client)", matches: (has) => has("evalSha") && has("isOpen") },
  {
    is: "a client of npm:ioredis",
    remedy: "use ioRedis(client)",
    matches: (has, { status }) => has("evalsha") && has("duplicate") && typeof status === "string",
  },
  {
    is: "a client of npm:redis 3 or older",
    remedy: "install redis 5 or newer and use nodeRedis(client)",
    matches: (has) => has("send_command"),
  },
  {
    is: "a RedisClient of Bun",
    remedy: "use bunRedis(client)",
    matches: (has) => has("send") && has("duplicate") && has("onclose"),
  },
  {
    is: "a client of jsr:@db/redis",
    remedy: "use denoRedis(client)",
    matches: (has, { isClosed }) => has("evalsha") && has("sendCommand") && typeof isClosed === "boolean",
  },
  {
    is: "a client of Valkey GLIDE, for which there is no adapter",
    remedy: "write a Backend for it",
    matches: (has) => has("customCommand") && has("invokeScript"),
  },
  {
    is: "a client of @upstash/redis, which has no connection",
    remedy: "use another client, or write a Backend for it",
    matches: (has) => has("evalsha") && has("createScript") && has("autoPipelineExecutor"),
  },
  {
    is: "a function or class",
    remedy: "pass what it makes, such as createClient(), new RedisClient(url) or memoryBackend()",
    matches: (_, client) => typeof client === "function",
  },
];

/** Not quoted in an error: it may contain a password. */
const SERVER_URL: Recognized = { is: "the URL of a server", remedy: "pass a client that connects to it" };

/** Whether it is a client of node-redis 4: the next version brought `destroy`. */
export function isNodeRedis4(has: (member: string) => boolean): boolean {
  return has("evalSha") && has("disconnect") && !has("destroy");
}

/** The value passed in place of a client, with the remedy; undefined if it is nothing known. */
export function recognize(client: unknown): Recognized | undefined {
  if (typeof client === "string" && /:\/\/|@/.test(client)) return SERVER_URL;
  if ((typeof client !== "object" && typeof client !== "function") || client === null) return undefined;
  const has = (member: string) => member in client;
  try {
    return libraries.find(({ matches }) => matches(has, client as Record<string, unknown>));
  } catch {
    return undefined; // a proxy
  }
}
