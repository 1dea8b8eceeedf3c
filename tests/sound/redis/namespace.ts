import type { Namespace } from "../../../lib/redis/namespace.ts";
import { assertSoundSubscription } from "./call/subscription.ts";
import { assertSoundRenewer } from "./lease/lease_renewer.ts";
import { assertSoundSleepers } from "./rate/start_call.ts";
import { assertSoundStore } from "./store/memory_store.ts";

export function assertSoundNamespace({ store, subscription, renewer }: Namespace): void {
  assertSoundStore(store);
  assertSoundSubscription(subscription);
  assertSoundRenewer(renewer);
  assertSoundSleepers(store.rates);
}
