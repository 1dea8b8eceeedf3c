/** Variants that are broken on purpose, each with a program that shows it and the complaint that it has to give. */
import { Lock } from "../../../mod.ts";
import { threeWant, twoWait } from "../programs.ts";
import type { Program } from "../_world.ts";
import { BargingLock } from "./barging_lock.ts";
import { ForgetfulCondition } from "./forgetful_condition.ts";
import { GhostWaiterLock } from "./ghost_waiter_lock.ts";
import { SelfCrowningLock } from "./self_crowning_lock.ts";
import { StaleGuardLock } from "./stale_guard_lock.ts";

export const broken: readonly { readonly program: Program; readonly complaint: RegExp }[] = [
  { program: threeWant("broken: barging", () => new BargingLock()), complaint: /^order: \w overtook \w$/ },
  {
    program: threeWant("broken: stale guard", () => new StaleGuardLock()),
    complaint: /^exclusion: \w was granted while \w holds$/,
  },
  {
    program: threeWant("broken: ghost waiter", () => new GhostWaiterLock(), ["B"]),
    complaint: /^lost wake-up: it is C's turn, and C still waits$/,
  },
  {
    program: threeWant("broken: waiter that crowns itself", () => new SelfCrowningLock()),
    complaint: /^exclusion: (B was granted while C|C was granted while B) holds$/,
  },
  {
    program: twoWait("broken: lost notification", () => {
      const lock = new Lock();
      return { lock, condition: new ForgetfulCondition(lock) };
    }),
    complaint: /^lost wake-up: B should be waiting for lock$/,
  },
];
