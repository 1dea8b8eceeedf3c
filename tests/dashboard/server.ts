/**
 * A server with work, a deadlock and the dashboard, for the tests in a browser:
 * `server.ts deno|bun [busy]`. Prints its address.
 */
import { KeyedMutex, Lock, Pool, Semaphore } from "../../mod.ts";
import { dashboard } from "../../lib/dashboard/mod.ts";
import { watchdog } from "../../lib/diagnostics/mod.ts";
import { Bun } from "../shutdown/platform.ts";
import process from "node:process";

const [, , how, busy] = process.argv;
const show = dashboard();
watchdog({ report() {} });

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const sleepAbout = (ms: number) => sleep(ms * (0.5 + Math.random()));

/** Two transfers in opposite orders: both hold their first account before either asks for its second one. */
function deadlock(): void {
  const accounts = new KeyedMutex<string>({ name: "accounts" });
  const transfer = async (from: string, to: string) => {
    await accounts.run(from, async () => {
      await accounts.run(to, () => {});
    });
  };
  void transfer("alice", "bob");
  void transfer("bob", "alice");
}

/** Some of everything, again and again. */
function work(): void {
  const orders = new Lock({ name: "orders" }), gateway = new Semaphore(2, { name: "gateway <eu>" });
  const pool = new Pool(3, { name: "thumbnails" });
  const forever = async (act: () => Promise<unknown>, pause: number) => {
    for (;;) {
      await act().catch(() => {});
      await sleepAbout(pause);
    }
  };
  for (let i = 0; i < 4; i++) {
    void forever(() => orders.run(() => sleepAbout(250), { timeout: 900 }), 300);
    void forever(() => gateway.run(() => sleepAbout(400)), 200);
    void forever(() => pool.run(() => sleepAbout(700)), 100);
  }
}

/** Thousands of things, and thousands of events per second. */
function overload(): void {
  const users = new KeyedMutex<number>({ name: "users" });
  // Two locks of one name are one thing: a wait that lasts puts it on top, and holds that are too short to be drawn follow.
  const [stuck, counter] = [new Lock({ name: "counter" }), new Lock({ name: "counter" })];
  for (let i = 0; i < 2; i++) void stuck.run(() => new Promise(() => {}));
  setInterval(() => {
    for (let i = 0; i < 3; i++) void counter.run(() => {});
    for (let i = 0; i < 40; i++) {
      const user = Math.floor(Math.random() * 3000);
      void users.run(user, () => sleep(1));
      void users.run(user, () => sleep(1));
    }
  }, 10);
}

work();
if (busy) overload();

/** Serves the dashboard; a POST makes the deadlock. */
function listen(): void {
  const fetch = (request: Request) => {
    if (request.method !== "POST") return show(request);
    deadlock();
    return new Response();
  };
  const [port, hostname] = [0, "127.0.0.1"];
  if (how === "bun") {
    console.log(`http://${hostname}:${Bun!.serve({ port, hostname, fetch }).port}/`);
  } else {
    Deno.serve({ port, hostname, onListen: ({ port }) => console.log(`http://${hostname}:${port}/`) }, fetch);
  }
}
listen();
