/** All faults, by what they happen to. A scenario says what happens; what has to be true is the harness's business. */
import { client } from "./client.ts";
import { data } from "./data.ts";
import { network } from "./network.ts";
import { races } from "./races.ts";
import { server } from "./server.ts";
import type { Scenario } from "./_harness.ts";

export const scenarios: readonly Scenario[] = [...network, ...server, ...data, ...client, ...races];
