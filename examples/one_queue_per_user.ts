/** An order service: the orders of one user take turns, and users do not wait for each other. Real requests, on loopback. */
import { Barrier, KeyedMutex, Lock } from "@interlock/interlock";
import { Agent, createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

/** Does the work of an order when it is the user's turn. */
export type Turns = (user: number, work: () => Promise<void>) => Promise<void>;
type Place = (user: number, id: number) => Promise<void>;

export const ORDERS = [[1, 101], [1, 102], [2, 201], [2, 202]] as const;

/** Starts a service for `POST /user/id`, lets `use` place orders, and stops it. */
export async function serving(take: Place, use: (place: Place) => Promise<unknown>): Promise<void> {
  const server = createServer((incoming, answer) => {
    const [user = NaN, id = NaN] = (incoming.url ?? "").slice(1).split("/").map(Number);
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

/** Places all four orders at once; returns the maximum number in progress at a time, in all and for one user. */
export async function fourOrders(turns: Turns, work: (id: number) => Promise<void>) {
  const busy: number[] = [];
  let atOnce = 0, ofOneUser = 0;
  const arrived = new Barrier(ORDERS.length); // so that the counts do not depend on how fast requests travel
  const take = async (user: number, id: number) => {
    await arrived.wait();
    await turns(user, async () => {
      busy.push(user);
      atOnce = Math.max(atOnce, busy.length);
      ofOneUser = Math.max(ofOneUser, busy.filter((one) => one === user).length);
      await work(id);
      busy.splice(busy.indexOf(user), 1);
    });
  };
  await serving(take, (place) => Promise.all(ORDERS.map(([user, id]) => place(user, id))));
  return { atOnce, ofOneUser };
}

export async function main(print: (line: string) => void = console.log) {
  const lock = new Lock(), users = new KeyedMutex<number>(), dictionary = new Map<number, Lock>();
  const work = () => sleep(10);
  const all = await fourOrders((_, work) => lock.run(work), work);
  print(`one lock for all: ${all.atOnce} order at a time`);
  const byHand = await fourOrders((user, work) => {
    if (!dictionary.has(user)) dictionary.set(user, new Lock());
    return dictionary.get(user)!.run(work);
  }, work);
  print(
    `a dictionary of locks: ${byHand.atOnce} at a time, ${byHand.ofOneUser} of each user, ${dictionary.size} locks left`,
  );
  const each = await fourOrders((user, work) => users.run(user, work), work);
  print(`one queue per user: ${each.atOnce} at a time, ${each.ofOneUser} of each user, ${users.size} entries left`);
}

if (import.meta.main) await main();
