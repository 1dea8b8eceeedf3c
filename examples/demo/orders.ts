/** Scenario A: a real HTTP order service on loopback, and what its locks do to users who have nothing to do with each other. */
import { KeyedMutex, Lock } from "@interlock/interlock";
import { Agent, createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { Lane, Stage } from "./lanes.ts";

/** One second of work is shown as a quarter of one. */
const WORK = 250;
const ORDERS = [[1, 101], [1, 102], [2, 201], [2, 202]] as const;
const USERS = 10_000;

/** How the service makes orders take turns. */
type Turns = (user: number, work: () => Promise<void>) => Promise<void>;

export interface Row {
  readonly scenario: string;
  readonly without: string;
  readonly with: string;
}

export async function orders(stage: Stage): Promise<Row[]> {
  stage.say("Two orders of user 1, two of user 2; 1 s of work each, shown 4 times as fast.");
  const lock = new Lock(), users = new KeyedMutex<number>();
  stage.say("\nOne lock for everybody:");
  const all = await fourOrders(stage, (_, work) => lock.run(work));
  stage.say("\nOne queue per user (KeyedMutex):");
  const each = await fourOrders(stage, (user, work) => users.run(user, work));
  const seconds = (ms: number) => `${(ms / WORK).toFixed(1)} s`;
  stage.say(`\n${seconds(all)} against ${seconds(each)}. Now ${USERS} users, one request each:`);
  const growth = await manyUsers();
  stage.say(`a dictionary of locks keeps ${growth.kept} of them, the KeyedMutex ${growth.left}`);
  return [
    {
      scenario: "orders of two users",
      without: `${seconds(all)}, one lock`,
      with: `${seconds(each)}, a queue each`,
    },
    { scenario: `${USERS} users`, without: `${growth.kept} locks kept`, with: `${growth.left} entries left` },
  ];
}

/** Milliseconds until all four are answered. */
async function fourOrders(stage: Stage, turns: Turns): Promise<number> {
  return await stage.picture(ORDERS.map(([, id]) => `order ${id}`), async (lanes) => {
    const laneOf = new Map<number, Lane>(ORDERS.map(([, id], i) => [id, lanes[i]!]));
    const begun = performance.now();
    await serving((user, id) => placeOrder(turns, user, laneOf.get(id)), async (place) => {
      await Promise.all(ORDERS.map(([user, id]) => place(user, id)));
    });
    return performance.now() - begun;
  });
}

async function placeOrder(turns: Turns, user: number, lane: Lane | undefined): Promise<void> {
  lane?.is("waits");
  await turns(user, async () => {
    lane?.is("holds");
    await sleep(WORK);
    lane?.is("idle");
  });
}

/** What is kept of many users by a dictionary of locks, and by a KeyedMutex. */
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

/** Starts the service, lets `use` place orders with real requests, and stops the service. */
async function serving(
  take: (user: number, id: number) => Promise<void>,
  use: (place: (user: number, id: number) => Promise<void>) => Promise<void>,
): Promise<void> {
  const server = createServer((incoming, answer) => {
    const [user, id] = (incoming.url ?? "").slice(1).split("/").map(Number) as [number, number];
    take(user, id).then(() => answer.end("done"), (error) => answer.writeHead(500).end(String(error)));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const agent = new Agent({ keepAlive: true, maxSockets: 64 });
  try {
    await use((user, id) => post(port, agent, `/${user}/${id}`));
  } finally {
    agent.destroy();
    await new Promise((resolve) => server.close(resolve));
  }
}

function post(port: number, agent: Agent, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const sent = request({ host: "127.0.0.1", port, agent, path, method: "POST" }, (answer) => {
      answer.resume();
      answer.on("end", () => answer.statusCode === 200 ? resolve() : reject(new Error(`status ${answer.statusCode}`)));
      answer.on("error", reject);
    });
    sent.on("error", reject);
    sent.end();
  });
}
