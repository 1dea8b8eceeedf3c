/** The contract of everything that can be held, over the locks of the platform. */
import type { Acquirable } from "../../mod.ts";
import { type WebGuard, WebLock, type WebLockManager, WebRwLock } from "../../lib/web/mod.ts";
import { until } from "../_tools.ts";
import { contractSuite } from "../contract_suite.ts";
import { CountedLocks, freshName, managers } from "./_managers.ts";

function suite(what: string, make: (name: string, locks: WebLockManager) => Acquirable<WebGuard>): void {
  for (const [manager, locks] of managers) {
    contractSuite<WebGuard>({
      name: `${what}, ${manager}`,
      hasPlace: false,
      make: () => {
        const counted = new CountedLocks(locks);
        return { lock: make(freshName(), counted), waiting: () => counted.waiting() };
      },
      short: 400,
      untilQueued: (subject, count) => until(async () => await subject.waiting() === count),
    });
  }
}

suite("WebLock", (name, locks) => new WebLock(name, { locks }));
suite("WebRwLock's writer", (name, locks) => new WebRwLock(name, { locks }).writer);
