/**
 * The public names and members that users were promised, written out by hand: taking one away or giving it another name
 * breaks their code, and this test.
 */

const ACQUIRABLE = "acquire tryAcquire run";

export const LOCAL: Readonly<Record<string, string>> = {
  WaitOptions: "signal timeout",
  Guard: "held release",
  Acquirable: ACQUIRABLE,
  Lock: `${ACQUIRABLE} locked waiting release`,
  TimeoutLock: `${ACQUIRABLE} locked waiting release`,
  Event: "isSet set clear wait waiting",
  SetEvent: "add delete has size Symbol.iterator isSet wait waiting track",
  Condition: `${ACQUIRABLE} locked release wait waitFor waiting notify notifyAll`,
  Semaphore: `${ACQUIRABLE} value locked waiting release`,
  BoundedSemaphore: `${ACQUIRABLE} value locked waiting release`,
  Barrier: "wait reset abort parties waiting broken",
  RwLock: "reader writer",
  RwLockSide: `${ACQUIRABLE} locked waiting`,
  KeyedMutex: `${ACQUIRABLE} locked waiting size`,
  lockOnArguments: "",
  SyncError: "",
  TimeoutError: "",
  NotHeldError: "",
  ClosedError: "",
  BrokenBarrierError: "",
  LeaseLostError: "",
};

export const POOL: Readonly<Record<string, string>> = {
  Pool: "createTask run map active waiting join close cancel Symbol.asyncDispose",
  Task: "result signal cancel status",
};

export const SHUTDOWN: Readonly<Record<string, string>> = {
  GracefulShutdown: "signal forced track handler finished request attach",
};

export const REDIS: Readonly<Record<string, string>> = {
  RedisLock: ACQUIRABLE,
  RedisSemaphore: ACQUIRABLE,
  RedisKeyedMutex: ACQUIRABLE,
  Lease: "held release signal fencingToken expiresAt ttl extend",
  denoRedis: "",
  nodeRedis: "",
  ioRedis: "",
  bunRedis: "",
};
