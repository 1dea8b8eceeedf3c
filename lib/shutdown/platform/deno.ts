/**
 * Peculiarities of Deno (2.9.6): exceptions of an aborted Deno.serve, and connections of node:http whose server does
 * not listen.
 *
 * @module
 */
import { runtime } from "../../internal/platform.ts";
import type { HttpServer, Outgoing } from "../node/shapes.ts";

/**
 * Aborts the signal of servers that may be closed already: the listener of Deno.serve then throws. Deno dispatches such
 * exceptions by the replaced function, first to the listeners of the process.
 */
export function abortSafely(controller: AbortController, reason: unknown): void {
  if (runtime() !== "deno") return controller.abort(reason);
  const { dispatchEvent } = globalThis;
  globalThis.dispatchEvent = (event) =>
    (event as ErrorEvent).error?.name !== "BadResource" && dispatchEvent.call(globalThis, event);
  controller.abort(reason);
  globalThis.dispatchEvent = dispatchEvent;
}

/**
 * node:http destroys the connection after a response without `Connection: close` if the server is not listening. It
 * checks this in a listener of "finish", so the server appears to listen during that event.
 */
export function outliveListener(response: Outgoing, server: HttpServer | null | undefined): void {
  if (runtime() !== "deno" || server == null) return;
  const isListening = { value: true, configurable: true };
  response.prependListener?.("finish", () => Object.defineProperty(server, "listening", isListening));
  response.once("finish", () => delete server.listening);
}
