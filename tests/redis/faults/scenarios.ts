/** All faults, by the part that they affect. A scenario injects a fault; the harness checks the conditions. */
import { manyWaiters } from "./bounded.ts";
import { client } from "./client.ts";
import { data } from "./data.ts";
import { failover } from "./failover.ts";
import { network } from "./network.ts";
import { rate } from "./rate.ts";
import { server } from "./server.ts";
import { waiting } from "./waiters.ts";
import type { Scenario } from "./_harness.ts";

export const scenarios: readonly Scenario[] = [
  ...network,
  ...server,
  ...data,
  ...client,
  ...rate,
  ...failover,
  ...waiting,
  ...manyWaiters,
];
