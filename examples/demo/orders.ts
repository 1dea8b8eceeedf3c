/** Scenario A: a real HTTP order service on loopback, and the effect of its locks on independent users. */
import { KeyedMutex, Lock } from "@interlock/interlock";
import { setTimeout as sleep } from "node:timers/promises";
import { fourOrders, ORDERS, serving, type Turns } from "../one_queue_per_user.ts";
import type { Lane, Stage } from "./lanes.ts";

const WORK = 250; // ms for an order
const USERS = 10_000;

export interface Row {
  readonly scenario: string;
  readonly without: string;
  readonly with: string;
}

export async function orders(stage: Stage): Promise<Row[]> {
  stage.say(`Two orders of user 1, two of user 2; each takes ${WORK} ms of work.`);
  const lock = new Lock(), users = new KeyedMutex<number>();
  stage.say("\nOne lock for all users:");
  const all = await shown(stage, (_, work) => lock.run(work));
  stage.say("\nOne queue per user (KeyedMutex):");
  const each = await shown(stage, (user, work) => users.run(user, work));
  const seconds = (ms: number) => `${(ms / 1000).toFixed(2)} s`;
  stage.say(`\n${seconds(all.time)} against ${seconds(each.time)}. Now ${USERS} users, one request each:`);
  const growth = await manyUsers();
  stage.say(`a dictionary of locks keeps ${growth.kept} locks, the KeyedMutex ${growth.left} entries`);
  return [
    {
      scenario: "orders of two users",
      without: `${seconds(all.time)}, ${all.atOnce} at a time`,
      with: `${seconds(each.time)}, ${each.atOnce} at a time`,
    },
    { scenario: `${USERS} users`, without: `${growth.kept} locks kept`, with: `${growth.left} entries left` },
  ];
}

/** The four orders as lanes; how many were worked on at once, and milliseconds until all have their responses. */
async function shown(stage: Stage, turns: Turns): Promise<{ atOnce: number; time: number }> {
  return await stage.picture(ORDERS.map(([, id]) => `order ${id}`), async (lanes) => {
    const laneOf = new Map<number, Lane>(ORDERS.map(([, id], i) => [id, lanes[i]!]));
    for (const lane of lanes) lane.is("waits");
    const begun = performance.now();
    const { atOnce } = await fourOrders(turns, async (id) => {
      laneOf.get(id)!.is("holds");
      await sleep(WORK);
      laneOf.get(id)!.is("idle");
    });
    return { atOnce, time: performance.now() - begun };
  });
}

/** The entries kept for many users by a dictionary of locks, and by a KeyedMutex. */
async function manyUsers(): Promise<{ kept: number; left: number }> {
  const dictionary = new Map<number, Lock>(), users = new KeyedMutex<number>();
  const both: Turns = async (user, work) => {
    const lock = dictionary.get(user) ?? new Lock();
    dictionary.set(user, lock);
    await lock.run(() => users.run(user, work));
  };
  await serving((user) => both(user, () => Promise.resolve()), async (place) => {
    await Promise.all(Array.from({ length: USERS }, (_, user) => place(user, user)));
  });
  return { kept: dictionary.size, left: users.size };
}
