/** Variants that are broken on purpose, each with a program that shows it and the complaint that it has to give. */
import { KeyedRateLimiter, Lock } from "../../../mod.ts";
import { flown } from "../flights.ts";
import { cancelled, cancelledKeys, cancelledSides, changedLimit, downgraded, windows } from "../limits.ts";
import { threeWant, twoWait } from "../programs.ts";
import { failing, lanes, pausedPool } from "../slots.ts";
import type { Program } from "../_world.ts";
import { BargingLock } from "./barging_lock.ts";
import { ForgetfulCondition } from "./forgetful_condition.ts";
import { ForgetfulGroup } from "./forgetful_group.ts";
import { oneKeyCancelled, writersCancelled } from "./half_cancelled.ts";
import { OpenLock } from "./open_lock.ts";
import { PlainLock } from "./plain_lock.ts";
import { RestlessPool } from "./restless_pool.ts";
import { StarvingPool } from "./starving_pool.ts";
import { StickyFlight } from "./sticky_flight.ts";
import { StingySemaphore } from "./stingy_semaphore.ts";
import { yieldingRwLock } from "./yielding_rw_lock.ts";

export const broken: readonly { readonly program: Program; readonly complaint: RegExp }[] = [
  { program: threeWant("broken: barging", () => new BargingLock()), complaint: /^order: \w overtook \w$/ },
  {
    program: threeWant("broken: stale guard", () => new PlainLock(Infinity)),
    complaint: /^exclusion: \w was granted while \w holds$/,
  },
  {
    program: threeWant("broken: ghost waiter", () => new PlainLock(), ["B"]),
    complaint: /^lost wake-up: it is (\w)'s turn, and \1 still waits$/,
  },
  {
    program: twoWait("broken: lost notification", () => {
      const lock = new Lock();
      return { lock, condition: new ForgetfulCondition(lock) };
    }),
    complaint: /^lost wake-up: B should be waiting for lock$/,
  },
  {
    program: cancelled("broken: cancelled and open", () => new OpenLock()),
    complaint: /^cancellation: \w was cancelled and (still waits|granted)$/,
  },
  {
    program: changedLimit("broken: limit that only falls", (permits) => new StingySemaphore(permits)),
    complaint: /^lost wake-up: it is \w's turn, and \w still waits$/,
  },
  {
    program: downgraded("broken: writer that lets another in", yieldingRwLock),
    complaint: /^exclusion: B was granted while A/,
  },
  {
    program: windows("broken: short windows", (interval) => new KeyedRateLimiter(1, interval - 2)),
    complaint: /^exclusion: \w was granted while \w( and \w)* holds$/,
  },
  { program: flown("broken: sticky failure", () => new StickyFlight()), complaint: /^flight: |was rejected without/ },
  {
    program: cancelledKeys("broken: only one key is cancelled", oneKeyCancelled),
    complaint: /^cancellation: [CD] was cancelled and (still waits|granted)$/,
  },
  {
    program: cancelledSides("broken: only writers are cancelled", writersCancelled),
    complaint: /^cancellation: [BC] was cancelled and (still waits|granted)$/,
  },
  {
    program: lanes("broken: lane that starves equals", (limit) => new StarvingPool(limit)),
    complaint: /^order: \w overtook \w$/,
  },
  {
    program: pausedPool("broken: pool that does not pause", (limit) => new RestlessPool(limit)),
    complaint: /^(order: \w overtook|exclusion: \w was granted)/,
  },
  {
    program: failing("broken: group that forgets a failure", (limit) => new ForgetfulGroup({ limit })),
    complaint: /^failures: join threw 1 of 2$/,
  },
];
