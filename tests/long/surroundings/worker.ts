/** A Worker whose requests share everything: made at module scope, used by the path of the request. */
import * as interlock from "../../../mod.ts";
import type { Needs } from "../../kinds/kind.ts";
import { localKinds } from "../../kinds/local.ts";

const { KeyedMutex, Lock, Pool, RateLimiter, RwLock, Semaphore } = interlock;

const lock = new Lock(), held = new Lock(), semaphore = new Semaphore(2), keyed = new KeyedMutex<string>();
const table = new RwLock(), event = new interlock.Event(), pool = new Pool(1);
const condition = new interlock.Condition();
const rate = new RateLimiter(2, 100), rated = new Pool(5, { rate: new RateLimiter(2, 100) });
// That they can be made here is all.
for (const { make } of Object.values(localKinds)) make(undefined, {} as Needs);

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

let inside = 0, most = 0;

async function work(): Promise<void> {
  most = Math.max(most, ++inside);
  await pause(10);
  inside--;
}

const paths: Record<string, () => unknown> = {
  "/lock": () => lock.run(work),
  "/semaphore": () => semaphore.run(work),
  "/keyed": () => keyed.run("key", work),
  "/writer": () => table.writer.run(work),
  "/pool": () => pool.run(work),
  "/task": async () => (await pool.createTask(work)).result,
  "/map": () => pool.map([1, 2, 3], work).toArray(),
  "/rate": () => rate.run(work),
  "/rated": () => rated.run(work),
  "/event": () => event.wait(),
  "/raced": () => Promise.race([event.wait(), pause(20)]),
  "/set": () => event.set(),
  "/condition": () => condition.run(() => condition.wait()),
  "/notify": () =>
    condition.run(async () => {
      condition.notifyAll();
      await pause(3000); // longer than a request is kept for its wait in the queue
    }),
  "/hold": () => held.run(() => pause(600)),
  "/100": () => held.acquire({ timeout: 100 }),
  "/20": () => held.acquire({ timeout: 20 }),
  "/aborted": () => held.acquire({ signal: AbortSignal.timeout(80) }),
  "/most": () => most,
};

async function answer(request: Request): Promise<Response> {
  const { pathname } = new URL(request.url);
  if (pathname === "/most") {
    const seen = most;
    most = 0;
    return Response.json(seen);
  }
  const begin = Date.now();
  try {
    await paths[pathname]!();
    return Response.json({ ended: "ok", ms: Date.now() - begin });
  } catch (error) {
    return Response.json({ ended: (error as Error).name, ms: Date.now() - begin });
  }
}

/** A Durable Object: all requests for a name come to one instance, so its lock excludes all of them. */
export class Counter {
  readonly #lock = new Lock();
  #count = 0;

  async fetch(): Promise<Response> {
    return await this.#lock.run(async () => {
      const count = this.#count;
      await pause(5);
      this.#count = count + 1;
      return Response.json({ ended: "ok", ms: this.#count });
    }, { timeout: 5000 });
  }
}

interface Env {
  readonly COUNTER: {
    idFromName(name: string): unknown;
    get(id: unknown): { fetch(request: Request): Promise<Response> };
  };
}

export default {
  fetch(request: Request, { COUNTER }: Env): Promise<Response> {
    if (!request.url.endsWith("/counter")) return answer(request);
    return COUNTER.get(COUNTER.idFromName("one")).fetch(request);
  },
};
