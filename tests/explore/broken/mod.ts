/** Variants that are broken on purpose, each with a program that shows it and the complaint that it has to give. */
import { Lock } from "../../../mod.ts";
import { flown } from "../flights.ts";
import { cancelled, cancelledKeys, cancelledSides, changedLimit, downgraded } from "../limits.ts";
import { threeWant, twoWait } from "../programs.ts";
import type { Program } from "../_world.ts";
import { BargingLock } from "./barging_lock.ts";
import { ForgetfulCondition } from "./forgetful_condition.ts";
import { oneKeyCancelled, writersCancelled } from "./half_cancelled.ts";
import { OpenLock } from "./open_lock.ts";
import { PlainLock } from "./plain_lock.ts";
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
  { program: flown("broken: sticky failure", () => new StickyFlight()), complaint: /^flight: |was rejected without/ },
  {
    program: cancelledKeys("broken: only one key is cancelled", oneKeyCancelled),
    complaint: /^cancellation: [CD] was cancelled and (still waits|granted)$/,
  },
  {
    program: cancelledSides("broken: only writers are cancelled", writersCancelled),
    complaint: /^cancellation: [BC] was cancelled and (still waits|granted)$/,
  },
];
