/** The code of a user who installed the package from npm. It is only type-checked, by scripts/check_npm.ts. */
import {
  type Acquirable,
  Barrier,
  BoundedSemaphore,
  Condition,
  Event,
  GracefulShutdown,
  type Guard,
  KeyedMutex,
  KeyedRateLimiter,
  KeyedSemaphore,
  Lock,
  lockOnArguments,
  Pool,
  Queue,
  RateLimiter,
  RwLock,
  Semaphore,
  SetEvent,
  SingleFlight,
  SyncError,
  TaskGroup,
  TimeoutError,
  TimeoutLock,
  type WaitOptions,
} from "@interlock/interlock";

const { signal } = new AbortController();
const patient: WaitOptions = { signal, timeout: undefined };

/** Written once, for everything that can be held. */
async function twice<G extends AsyncDisposable>(thing: Acquirable<G>): Promise<number> {
  await using _guard = (await thing.tryAcquire()) ?? (await thing.acquire(patient));
  return thing.run(() => 2);
}

export async function main(): Promise<string[]> {
  const lock = new Lock();
  {
    using guard = lock.tryAcquire() ?? await lock.acquire({ timeout: 100 });
    guard.held satisfies boolean;
  }
  const rw = new RwLock();
  await Promise.all([
    lock,
    new TimeoutLock(10),
    new Condition(lock),
    new Semaphore(2),
    new BoundedSemaphore(2),
    rw.reader,
    rw.writer,
  ].map((thing: Acquirable<Guard>) => twice(thing)));

  const users = new KeyedMutex<string>();
  const load = lockOnArguments(users, [0])((user: string, page: number) => [user, page] as const);
  const [name]: readonly [string, number] = await load("ada", 1);
  new Event().wait({ signal }).catch((error: unknown) => error instanceof TimeoutError && error.message);
  const queue = new Queue<number>(2);
  await queue.put(1, patient);
  const item: number | undefined = queue.tryGet()?.value;
  await using group = new TaskGroup({ limit: 2, signal });
  const flights = new SingleFlight<string>();
  const result: number = await group.run((own) => flights.run("a", () => Number(own.aborted), { timeout: 100 }));
  const limited = new KeyedSemaphore<string>(2).at("a") satisfies Acquirable<Guard>;
  const open = new SetEvent<Promise<string>>();
  const same: Promise<string> = open.track(Promise.resolve("x"));
  const index: number = await new Barrier(1).wait();
  const rate = new RateLimiter(10, 1000);
  const doubled: number[] = await new Pool(2, { rate, name: "calls" }).map([1, 2], (n) => 2 * n).toArray();
  if (!new KeyedRateLimiter<string>(1, 1000).tryAcquire("ada")) return doubled.map(String);
  const shutdown = new GracefulShutdown({ signals: ["SIGTERM"], grace: 1000 });
  const answer: Promise<string> = shutdown.track(Promise.resolve("x"));
  void answer.then(() => shutdown.request("over"));
  return [`${item} ${result} ${limited.value}`, name, await same, String(index), new SyncError("x").name];
}
