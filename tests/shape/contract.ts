/**
 * The public names and members that users were promised, written out by hand: taking one away or giving it another name
 * breaks their code, and this test; a new one is added here. Where no members are listed, it has none that are ours.
 */

const ACQUIRABLE = "acquire tryAcquire run";
const LOOKING = "inspect forceRelease";

const LOCAL: Readonly<Record<string, string>> = {
  WaitOptions: "signal timeout",
  NameOptions: "name",
  Guard: "held release",
  Acquirable: ACQUIRABLE,
  Lock: `name ${ACQUIRABLE} locked waiting release`,
  TimeoutLock: `name ${ACQUIRABLE} locked waiting release`,
  Event: "name isSet set clear wait waiting",
  SetEvent: "name add delete has size Symbol.iterator isSet wait waiting track",
  Condition: `name ${ACQUIRABLE} locked release wait waitFor waiting notify notifyAll`,
  Semaphore: `name ${ACQUIRABLE} value locked waiting release`,
  SemaphoreOptions: "signal timeout permits",
  BoundedSemaphore: `name ${ACQUIRABLE} value locked waiting release`,
  Barrier: "name wait reset abort parties waiting broken",
  RwLock: "name reader writer",
  RwLockSide: `${ACQUIRABLE} locked waiting`,
  KeyedMutex: `name ${ACQUIRABLE} locked waiting size at`,
  KeyedLock: `${ACQUIRABLE} name key locked waiting`,
  acquireAll: "",
  AnyGuard: "held release",
  GuardGroup: "guards held release",
  GuardsOf: "",
  RateLimiter: `name ${ACQUIRABLE} waiting limit interval`,
  RateLimiterOptions: "signal timeout permits",
  lockOnArguments: "",
  LockOnArgumentsOptions: "name timeout",
  LockedOnArguments: "",
  ArgumentMutex: "run",
  KeyPart: "",
  SyncError: "",
  TimeoutError: "",
  NotHeldError: "",
  ClosedError: "",
  BrokenBarrierError: "",
  LeaseLostError: "",
};

const POOL: Readonly<Record<string, string>> = {
  Pool: "createTask run map active waiting limit name join close cancel Symbol.asyncDispose",
  PoolOptions: "name rate",
  Task: "result signal cancel status",
  TaskStatus: "",
  MapFunction: "",
  MapOptions: "ordered buffer signal",
  MapResults: "toArray",
  MapSource: "",
};

const SHUTDOWN: Readonly<Record<string, string>> = {
  GracefulShutdown:
    "signal forced ready active labels request track handler attach webSocket onShutdown defer finished " +
    "Symbol.asyncDispose",
  GracefulShutdownOptions: "grace signals debounce delay idle late retryAfter ready",
  ShutdownReport: "reason drained remaining elapsed errors ok",
  HandlerOptions: "label",
  AttachOptions: "label",
  FetchHandler: "",
  ServerLike: "",
  BunServerLike: "stop pendingRequests pendingWebSockets",
  DenoServerLike: "shutdown",
  NodeServerLike: "emit close closeIdleConnections closeAllConnections",
  NodeRequestLike: "method url headers",
  WebSocketLike: "readyState close terminate addEventListener",
};

const REDIS: Readonly<Record<string, string>> = {
  RedisLock: `${ACQUIRABLE} ${LOOKING}`,
  RedisSemaphore: `${ACQUIRABLE} permits ${LOOKING}`,
  RedisSemaphoreWaitOptions: "signal timeout permits",
  RedisKeyedMutex: `${ACQUIRABLE} ${LOOKING} at`,
  RedisRwLock: `reader writer ${LOOKING}`,
  RedisOptions: "ttl renew prefix retention owner replicas",
  ReplicaOptions: "count timeout",
  Lease: "id held release signal fencingToken expiresAt ttl extend verify",
  Inspection: "holders waiters waiting fence ttl",
  Waiter: "id process owner since expiresIn",
  Holder: "id process owner since expiresIn fencingToken permits",
  Backend: "evalsha eval subscribe wait failure losses cluster closed onClose",
  ClientOptions: "push",
  RedisError: "",
  Acquirable: ACQUIRABLE,
  WaitOptions: "signal timeout",
  SyncError: "",
  TimeoutError: "",
  NotHeldError: "",
  LeaseLostError: "",
  denoRedis: "",
  DenoRedisClient: "evalsha eval sendCommand isClosed addEventListener",
  DenoRedisSubscriber: "subscribe addEventListener removeEventListener close connect",
  DenoRedisSubscription: "receive subscribe unsubscribe",
  nodeRedis: "",
  NodeRedisClient: "evalSha eval duplicate isOpen",
  ioRedis: "",
  IoRedisClient: "evalsha eval duplicate status",
  bunRedis: "",
  BunRedisClient: "send duplicate subscribe close connected onconnect onclose",
};

const CALL = "id permits since lasted site";
const EVENT = "id kind name key permits at";

const DIAGNOSTICS: Readonly<Record<string, string>> = {
  observe: "",
  Observer: "wait grant giveUp release",
  DiagnosticEvent: EVENT,
  WaitEvent: EVENT,
  GrantEvent: `${EVENT} waited`,
  GiveUpEvent: `${EVENT} waited outcome`,
  GiveUpOutcome: "",
  ReleaseEvent: `${EVENT} held`,
  channels: "",
  metrics: "",
  MeterLike: "createHistogram createUpDownCounter createCounter",
  HistogramLike: "record",
  CounterLike: "add",
  MetricOptions: "description unit advice",
  trace: "",
  Trace: "dropped toJSON",
  TraceOptions: "limit",
  TraceJson: "traceEvents displayTimeUnit otherData",
  snapshot: "",
  ThingSnapshot: "kind name key holders waiters",
  CallSnapshot: CALL,
  CallSite: "file line column toString",
  watchdog: "",
  WatchdogOptions: "waited held self report",
  dashboard: "",
  Dashboard: "",
  Finding: "kind message calls",
  FoundCall: `${CALL} state kind name key`,
  TraceEvent: "ph name cat ts dur pid tid id bp args",
};

/** By entry point. */
export const CONTRACT: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  ".": { ...LOCAL, ...POOL, ...SHUTDOWN },
  "./redis": REDIS,
  "./diagnostics": DIAGNOSTICS,
};
