/**
 * Calls the user's functions for events.
 *
 * @module
 */
import { checkFunction, must } from "../internal/check.ts";
import { EVENT_NAMES, type Observer } from "./events.ts";
import { hub } from "./hub.ts";
import type { Listener } from "./listeners.ts";

/**
 * Calls the observer's methods at each wait, grant, cancellation and release of every primitive, local or remote, until
 * the result is disposed of. Several observers can be on at a time; each sees all events.
 *
 * The methods are called synchronously, in the middle of acquiring and releasing: keep them short. An error that
 * one of them throws becomes an uncaught error and never reaches the code that uses the lock. Holds and waits from
 * before the first observer are not reported.
 *
 * For metrics, use {@linkcode metrics}; to find deadlocks, use {@linkcode watchdog}.
 *
 * @param observer The functions; missing functions are skipped.
 * @throws {TypeError} when `observer` is not an object, has members and none of these methods, or one of them is not a
 *   function.
 *
 * @example
 * ```ts
 * import { Lock } from "@interlock/interlock";
 * import { observe } from "@interlock/interlock/diagnostics";
 *
 * using _observing = observe({
 *   grant: ({ kind, name, waited }) => console.log(kind, name, waited), // lock orders 0
 * });
 * using _ = await new Lock({ name: "orders" }).acquire();
 * ```
 */
export function observe(observer: Observer): Disposable {
  must(typeof observer === "object" && observer !== null, "observer", "be an object", observer);
  const methods = EVENT_NAMES.flatMap((name) => {
    const method = observer[name] as ((event: unknown, call: unknown) => void) | undefined;
    if (method === undefined) return [];
    checkFunction(method, `observer.${name}`);
    return [[name, (event: unknown, call: unknown) => method.call(observer, event, call)]];
  });
  const isObserver = methods.length > 0 || Object.keys(observer).length === 0; // {} only switches it on
  must(isObserver, "observer", `have ${EVENT_NAMES.join(", ")} or no member at all`, observer);
  return hub.listen(Object.fromEntries(methods) as Listener);
}
