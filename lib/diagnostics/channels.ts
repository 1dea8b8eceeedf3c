/**
 * The events on node:diagnostics_channel, where monitoring tools listen.
 *
 * @module
 */
import { SyncError } from "../errors.ts";
import { EVENT_NAMES } from "./events.ts";
import { observe } from "./observe.ts";
import { builtin } from "../internal/platform.ts";

/**
 * Publishes the events of {@linkcode observe} on the channels `interlock:wait`, `interlock:grant`, `interlock:give-up`
 * and `interlock:release` of `node:diagnostics_channel`, until the result is disposed of. Call it once per process: two
 * calls publish every event twice.
 *
 * @throws {SyncError} when the platform has no `node:diagnostics_channel`: browsers, and Node before 20.16.
 *
 * @example
 * ```ts
 * import { subscribe } from "node:diagnostics_channel";
 * import { Lock } from "@interlock/interlock";
 * import { channels } from "@interlock/interlock/diagnostics";
 *
 * subscribe("interlock:grant", (event) => console.log((event as { kind: string }).kind)); // lock
 * using _publishing = channels();
 * using _ = await new Lock().acquire();
 * ```
 */
export function channels(): Disposable {
  const module = builtin<{ channel(name: string): { publish(message: unknown): void } }>("diagnostics_channel");
  if (module === undefined) {
    throw new SyncError("Cannot publish diagnostics: node:diagnostics_channel is missing here; use observe() instead");
  }
  const observer = EVENT_NAMES.map((name) => {
    const channel = module.channel(`interlock:${name === "giveUp" ? "give-up" : name}`);
    return [name, (event: unknown) => channel.publish(event)];
  });
  return observe(Object.fromEntries(observer));
}
