/**
 * The description of a resource: connection, keys, scripts and settings of one name. Invariant: immutable, so that a
 * lease carries all that is needed to renew and release it.
 *
 * @module
 */
import { inspectMutex, inspectWeighted } from "../scripts/inspect.ts";
import type { Script } from "../scripts/script.ts";
import { acquireMutex, acquireWeighted, releaseMutex, releaseWeighted } from "../scripts/state_machine.ts";
import type { Resource } from "../../internal/hook.ts";
import type { Keys, Settings } from "../options.ts";
import type { RedisConnection } from "./connection.ts";

/** The scripts that belong together. */
export interface Family {
  readonly code: "m" | "w";
  readonly acquire: Script;
  readonly release: Script;
  readonly inspect: Script;
}

export const mutex: Family = { code: "m", acquire: acquireMutex, release: releaseMutex, inspect: inspectMutex };

export const weighted: Family = {
  code: "w",
  acquire: acquireWeighted,
  release: releaseWeighted,
  inspect: inspectWeighted,
};

export interface ResourceSpec {
  readonly connection: RedisConnection;
  readonly family: Family;
  readonly keys: Keys;
  readonly settings: Settings;
  /** As the hook knows it. */
  readonly resource: Resource;
  /** As errors name it: `lock "orders"`. */
  readonly what: string;
  readonly weight: number;
  readonly limit: number;
}
