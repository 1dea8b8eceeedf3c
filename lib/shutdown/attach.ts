/**
 * Attaching servers and pools, which are known by their members, without the types or modules of any run-time.
 *
 * @module
 */
import { must } from "../internal/check.ts";
import { builtin, runtime } from "../internal/platform.ts";
import { type BunServerLike, onBunConnection } from "./platform/bun.ts";
import type { DenoServerLike } from "./fetch/deno.ts";
import { FetchServer } from "./fetch/server.ts";
import { NodeServer } from "./node/server.ts";
import type { HttpServer, NodeRequestLike, NodeServerLike } from "./node/shapes.ts";
import { readLabel } from "./options.ts";
import { attachPool, type PoolLike } from "./pool_work.ts";
import { startCallback } from "./sequence.ts";
import type { AttachedServer, ShutdownState } from "./shutdown_state.ts";

/** A server for {@linkcode GracefulShutdown.attach}: of node:http(s), node:http2, Deno.serve or Bun.serve. */
export type ServerLike = NodeServerLike | DenoServerLike | BunServerLike;

/** How {@linkcode GracefulShutdown.attach} treats the server. */
export interface AttachOptions {
  /**
   * Names a request in {@linkcode ShutdownReport.remaining}. Default: method and path. For the node modules only: with
   * Deno.serve and Bun.serve it is an option of {@linkcode GracefulShutdown.handler}.
   */
  readonly label?: ((request: NodeRequestLike) => string) | undefined;
}

/** The shutdown to which each server or pool is attached. */
const owners = new WeakMap<object, ShutdownState>();

/** Checks the arguments, and attaches a server or pool unless it is attached already. */
export function attach(state: ShutdownState, target: ServerLike | PoolLike, options: AttachOptions | undefined): void {
  const rule = "be a server of node:http, node:http2, Deno.serve or Bun.serve, or a Pool";
  if (!isPool(target) && !isServer(target)) must(false, "server", `${rule} (${hint(target)})`, target);
  const label = readLabel(options);
  const owner = owners.get(target) ?? state;
  must(owner === state || owner.phase === "finished", "server", "belong to one GracefulShutdown only", target);
  state.checkUsable("attach");
  if (state.attached.has(target)) return;
  if (owner !== state) detach(owner, target);
  const undo = isPool(target) ? attachPool(state, target) : attachServer(state, target, label);
  state.attached.set(target, undo);
  owners.set(target, state);
}

/** Undoes attach(). */
export function detach(state: ShutdownState, target: object): void {
  const undo = state.attached.get(target);
  if (undo === undefined) return;
  state.attached.delete(target);
  owners.delete(target);
  undo();
}

/** Attaches a server. One that comes late stops listening. Returns a function that undoes it. */
function attachServer(state: ShutdownState, server: ServerLike, label: AttachOptions["label"]): () => void {
  const isNode = "emit" in server;
  const attached: AttachedServer = isNode ? new NodeServer(state, server, label) : new FetchServer(state, server);
  const acceptsServers = !state.hasReached("calming"); // after attaching, which throws for a frozen server
  const endSearch = isNode && acceptsServers ? attachSiblings(state, server, label) : () => {};
  state.atEnd.add(endSearch);
  if (state.phase !== "serving") attached.begin?.();
  if (acceptsServers) state.servers.set(server, attached);
  else if (state.phase === "finished") state.addLate(stop(state, server, attached));
  else startCallback(state, { label: "a server that stops listening", fn: () => stop(state, server, attached) });
  return () => {
    state.servers.delete(server);
    endSearch();
    state.atEnd.delete(endSearch);
    attached.detach?.();
  };
}

/**
 * Attaches, at its first connection, any server of the node modules that has the same listener for requests as this
 * one: an app may create several servers, as Fastify does for each address of localhost.
 */
function attachSiblings(state: ShutdownState, server: HttpServer, label: AttachOptions["label"]): () => void {
  const attachSibling = (other: HttpServer | null | undefined) => {
    if (other == null || owners.has(other) || !isServer(other)) return;
    const own = server.listeners?.("request") ?? [];
    if (other.listeners?.("request").some((listener) => own.includes(listener))) attach(state, other, { label });
  };
  if (runtime() === "bun") return onBunConnection(attachSibling);
  type Channels = Record<"subscribe" | "unsubscribe", (name: string, listener: (message: never) => void) => void>;
  const channels = builtin<Channels>("diagnostics_channel");
  const onSocket = ({ socket }: { socket: { server?: HttpServer | null } }) => attachSibling(socket.server);
  channels?.subscribe("net.server.socket", onSocket);
  return () => channels?.unsubscribe("net.server.socket", onSocket);
}

/** Waits a turn of the event loop first: if the server has just begun to listen, its callback is still to come. */
async function stop(state: ShutdownState, server: ServerLike, attached: AttachedServer): Promise<void> {
  await attached.awaitCalm();
  state.servers.set(server, attached);
  attached.stopListening();
  await state.resumeNextTurn(); // what awaitCalm() held back
  if (!state.counts) attached.cut(); // after the drain, nothing awaits its connections
}

/** Whether `value` is a Pool, of any copy of the module. An import of the class would be part of every bundle. */
function isPool(value: unknown): value is PoolLike {
  const pool = Object(value) as object;
  return ["createTask", "map", "close", "cancel", "join"].every((name) => has(pool, name));
}

/** Whether `value` has the methods of a server. The apps of many frameworks have some of them too. */
function isServer(value: unknown): value is ServerLike {
  if (typeof value !== "object" || value === null) return false;
  if (has(value, "emit")) {
    return has(value, "close") && (has(value, "closeAllConnections") || has(value, "updateSettings"));
  }
  const isApp = has(value, "listen") || has(value, "executeOperation") || isObject(value, "listener");
  return (has(value, "shutdown") || has(value, "stop")) && !isApp;
}

/** The members by which the app of a framework is known, and the remedy; the first that fits counts. */
const REMEDIES = `getHttpServer | pass app.getHttpServer(), and close by shutdown.defer(() => app.close())
tryShutdown | close by shutdown.onShutdown(() => new Promise((end) => server.tryShutdown(end)))
executeOperation | pass the server of node:http, and close by shutdown.defer(() => apollo.stop())
inject route listener | pass its property listener, and close by shutdown.defer(() => server.stop())
serve fetch options | wrap its fetch by handler(), and pass its property node.server, deno.server or bun.server
fetch | wrap its fetch by handler(), and pass the server that serves it
handler use options | pass the server of createServer(toNodeListener(app))
server | pass its property server
listener | pass its property listener
httpServer | pass its property httpServer
then | await the promise, and pass the server
getConnections | count connections of node:net or node:tls by track()
handleUpgrade | pass the server of node:http that it runs on
listen | pass the server that app.listen returns`;

/** Suggests a remedy for a call with anything else. */
function hint(value: unknown): string {
  if (typeof value === "function" && !has(value, "fetch")) return "pass the server that app.listen returns";
  const app = Object(value) as object;
  for (const line of REMEDIES.split("\n")) {
    const [members, remedy] = line.split(" | ") as [string, string];
    if (members.split(" ").every((name) => has(app, name) || isObject(app, name))) return remedy;
  }
  return "pass the server itself";
}

function has(value: object, method: string): boolean {
  return typeof (value as Record<string, unknown>)[method] === "function";
}

function isObject(value: object, name: string): boolean {
  const property = (value as Record<string, unknown>)[name];
  return typeof property === "object" && property !== null;
}
