/** Races. One process is enough for these, which allows many rounds. */
import { setTimeout as sleep } from "node:timers/promises";
import { type Backend, type Lease, RedisLock } from "../../../lib/redis/mod.ts";
import { renew } from "../../../lib/redis/scripts/holds.ts";
import { type Harness, type Scenario, TTL } from "./_harness.ts";

const ROUNDS = 150;

/** Of three waiters the middle one is cancelled about when it is granted: it gets the lease or its reason. */
async function abortWithGrant(harness: Harness): Promise<void> {
  const { backend } = await harness.connect();
  const lock = new RedisLock(backend, "race", { ttl: TTL });
  let [granted, gaveUp] = [0, 0];
  for (let round = 0; round < ROUNDS; round++) {
    const holder = await lock.acquire();
    const controller = new AbortController();
    const visit = (lease: Lease) => lease.release();
    const first = lock.acquire({ timeout: 5000 }).then(visit);
    const middle = lock.acquire({ signal: controller.signal }).then(
      (lease) => (granted++, lease.release()),
      (reason) => (gaveUp++, harness.must(reason === controller.signal.reason, `rejected with ${reason}`)),
    );
    const last = lock.acquire({ timeout: 5000 }).then(visit);
    const abort = sleep(harness.random.below(4)).then(() => controller.abort());
    await Promise.all([holder.release(), first, middle, last, abort]);
  }
  harness.must(granted + gaveUp === ROUNDS, "one did not settle");
  harness.figures.acquisitions += 3 * ROUNDS;
}

/** Commands arrive after their calls were cancelled: they are granted nothing, and leave nothing behind. */
async function lateCommands(harness: Harness): Promise<void> {
  const { backend } = await harness.connect();
  const lock = new RedisLock(backend, "late", { ttl: TTL });
  harness.proxy.latency = 30;
  for (let round = 0; round < 20; round++) {
    const all = Array.from({ length: 5 }, () => lock.acquire({ timeout: harness.random.below(60) }));
    for (const one of await Promise.allSettled(all)) {
      if (one.status === "rejected") continue;
      harness.figures.acquisitions++;
      await one.value.release();
    }
  }
  harness.proxy.latency = 0;
  const start = performance.now();
  const lease = await lock.acquire({ timeout: 3 * TTL });
  harness.recovery = performance.now() - start;
  harness.must(await lease.release(), "the last one did not hold");
  harness.figures.acquisitions++;
  const { waiters } = await lock.inspect();
  harness.must(waiters.length === 0, `${waiters.length} left in line`);
}

/** Releases during a renewal that was sent and has no reply yet: the renewal never restores the hold. */
async function releaseWithRenewal(harness: Harness): Promise<void> {
  const { backend } = await harness.connect();
  let renewing = () => {};
  const telling: Backend = {
    ...backend,
    evalsha: (sha, keys, args) => {
      const answer = backend.evalsha(sha, keys, args);
      if (sha === renew.sha) renewing();
      return answer;
    },
  };
  const lock = new RedisLock(telling, "renewal", { ttl: 300 });
  Object.assign(harness.proxy, { latency: 1, jitter: 5 });
  for (let round = 0; round < 60; round++) {
    const renewed = new Promise<void>((sent) => renewing = sent);
    const lease = await lock.acquire({ timeout: 5000 });
    const lost = new Promise<void>((over) => lease.signal.addEventListener("abort", () => over()));
    await Promise.race([renewed, lost]);
    await lease.release();
    const { holders } = await lock.inspect();
    harness.must(holders.length === 0, "held after its release");
    harness.figures.acquisitions++;
  }
  harness.proxy.latency = 0;
}

export const races: readonly Scenario[] = [
  { name: "abort races with grant", fast: true, run: abortWithGrant },
  { name: "commands that arrive after the caller gave up", fast: true, run: lateCommands },
  { name: "release races with renewal", run: releaseWithRenewal },
];
