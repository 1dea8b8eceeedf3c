import { stateOf } from "../../../../lib/internal/state.ts";
import type { Timer } from "../../../../lib/internal/timer.ts";
import { ServerCall } from "../../../../lib/redis/call/server_call.ts";
import type { Listener, Subscription } from "../../../../lib/redis/call/subscription.ts";
import { assertRules } from "../../rules.ts";
import { assertSoundCall } from "./server_call.ts";

export function assertSoundSubscription(subscription: Subscription): void {
  type State = [listeners: Map<string, Listener>, byQueue: Map<string, Set<Listener>>, linger: Timer];
  const [listeners, byQueue, linger] = stateOf<State>(subscription);
  const queues = [...byQueue.values()];
  for (const listener of listeners.values()) if (listener instanceof ServerCall) assertSoundCall(listener);
  assertRules("subscription", {
    "the queues": queues.reduce((sum, { size }) => sum + size, 0) === listeners.size,
    "an empty queue": queues.every(({ size }) => size > 0),
    "it lingers with waiters": listeners.size === 0 || linger.at === Infinity,
  });
}
