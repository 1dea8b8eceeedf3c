/**
 * The public names and members that users were promised, written out by hand: taking one away or giving it another name
 * breaks their code, and this test; a new one is added here.
 */

const ACQUIRABLE = "acquire tryAcquire run";
const LOOKING = "inspect forceRelease";
const LOCK = `name ${ACQUIRABLE} wrap locked waiting release cancel closed`;
/** Of every entry with something that can be held. */
const HOLDING = { Acquirable: ACQUIRABLE, WaitOptions: "signal timeout" };

/** Names that have no members of ours. */
function without(names: string): Record<string, string> {
  return Object.fromEntries(names.split(" ").map((name) => [name, ""]));
}

const LOCAL: Readonly<Record<string, string>> = {
  ...HOLDING,
  NameOptions: "name",
  MaxWaitingOptions: "name maxWaiting",
  Guard: "held release",
  Lock: LOCK,
  TimeoutLock: LOCK,
  Event: "name isSet set clear wait waiting cancel closed",
  SetEvent: "name add delete has size Symbol.iterator isSet wait waiting track",
  Condition: `name ${ACQUIRABLE} wrap locked release wait waitFor waiting notify notifyAll cancel closed`,
  Semaphore: `name ${ACQUIRABLE} wrap value locked waiting release cancel closed`,
  SemaphoreOptions: "signal timeout permits",
  BoundedSemaphore: `name ${ACQUIRABLE} wrap value locked waiting release cancel closed limit`,
  Barrier: "name wait reset abort parties waiting broken",
  RwLock: "name reader writer cancel closed",
  RwLockWriter: `${ACQUIRABLE} wrap locked waiting`,
  WriterGuard: "held release downgrade",
  RwLockSide: `${ACQUIRABLE} wrap locked waiting`,
  KeyedMutex: `name ${ACQUIRABLE} locked waiting size at cancel closed`,
  KeyedLock: `${ACQUIRABLE} wrap name key locked waiting`,
  AnyGuard: "held release",
  GuardGroup: "guards held signal release",
  Queue: "name put tryPut get tryGet values taskDone join close cancel closed size capacity getting putting " +
    "Symbol.asyncIterator",
  TaskGroup: "scope name run wrap signal active waiting cancel join Symbol.asyncDispose",
  TaskGroupOptions: "name limit signal",
  SingleFlight: "name run has forget size",
  KeyedRateLimiter:
    `name ${ACQUIRABLE} limit interval budgets remaining block reward penalty retryAfter waiting size cancel closed`,
  KeyedRateLimiterBudget: "kind limit interval remaining",
  RateLimiter:
    `name ${ACQUIRABLE} wrap waiting limit interval budgets remaining block reward penalty retryAfter cancel ` +
    "closed",
  RateLimiterBudget: "kind limit interval remaining",
  RateBudget: "limit interval kind",
  RateOptions: "name maxWaiting kind",
  KeyedSemaphore: `name ${ACQUIRABLE} at value locked waiting size cancel closed`,
  KeyedPermits: `${ACQUIRABLE} wrap name key value locked waiting`,
  RateLimiterOptions: "signal timeout permits",
  LockOnArgumentsOptions: "name timeout",
  ArgumentMutex: "run",
  ShareOnArgumentsOptions: "name timeout",
  ...without(
    "acquireAll GuardsOf lockOnArguments LockedOnArguments shareOnArguments SharedOnArguments KeyPart " +
      "SyncError TimeoutError NotHeldError ClosedError BrokenBarrierError QueueFullError LeaseLostError",
  ),
};

const POOL: Readonly<Record<string, string>> = {
  Pool: "createTask run wrap map active waiting limit name join close cancel closed Symbol.asyncDispose",
  PoolOptions: "name rate maxWaiting",
  Task: "result signal cancel status",
  TaskOptions: "signal timeout priority permits",
  PoolMapOptions: "name signal rate settled",
  MapOptions: "ordered buffer signal priority settled",
  MapResults: "next toArray",
  ...without("TaskStatus MapFunction MapResult MapSource"),
};

const SHUTDOWN: Readonly<Record<string, string>> = {
  GracefulShutdown:
    "signal forced ready active labels request track handler attach detach webSocket onShutdown defer finished " +
    "Symbol.dispose Symbol.asyncDispose",
  GracefulShutdownOptions: "grace signals debounce delay idle late retryAfter ready",
  ShutdownReport: "reason drained remaining elapsed errors ok",
  HandlerOptions: "label",
  AttachOptions: "label",
  PoolLike: "name active waiting close cancel join",
  BunServerLike: "stop pendingRequests pendingWebSockets",
  DenoServerLike: "shutdown",
  NodeServerLike: "emit close closeIdleConnections closeAllConnections",
  NodeRequestLike: "method url headers",
  WebSocketLike: "readyState close terminate addEventListener",
  RawSocketLike: "destroyed end destroy once",
  WebSocketOptions: "label close",
  ...without("FetchHandler ServerLike"),
};

const REDIS: Readonly<Record<string, string>> = {
  ...HOLDING,
  RedisLock: `${ACQUIRABLE} wrap adopt ${LOOKING}`,
  RedisSemaphore: `${ACQUIRABLE} wrap adopt permits ${LOOKING}`,
  RedisSemaphoreWaitOptions: "signal timeout permits",
  RedisKeyedMutex: `${ACQUIRABLE} ${LOOKING} at`,
  RedisRwLock: `reader writer ${LOOKING}`,
  RedisRateLimiter: `${ACQUIRABLE} wrap retryAfter remaining block reward penalty at limit interval name`,
  RedisRateLimiterOptions: "prefix kind",
  RedisRateLimiterWaitOptions: "signal timeout permits",
  RedisAcquirable: `${ACQUIRABLE} wrap adopt`,
  RedisOptions: "ttl renew prefix owner",
  Lease: "id held release signal fencingToken expiresAt ttl extend verify",
  Inspection: "holders waiters waiting fence ttl",
  Waiter: "id process owner since expiresIn",
  Holder: "id process owner since expiresIn fencingToken permits",
  Backend: "evalsha eval subscribe library failure subscriberFailure losses connection cluster closed onClose",
  ClientOptions: "push",
  DenoRedisClient: "evalsha eval pipeline isClosed addEventListener",
  DenoRedisSubscriber: "subscribe isClosed addEventListener removeEventListener close connect",
  DenoRedisSubscription: "receive subscribe unsubscribe",
  NodeRedisClient: "evalSha eval duplicate isOpen",
  IoRedisClient: "evalsha eval duplicate status",
  BunRedisClient: "send duplicate subscribe close connected onconnect onclose",
  ...without(
    "RedisError SyncError TimeoutError NotHeldError LeaseLostError memoryBackend denoRedis nodeRedis " +
      "ioRedis bunRedis",
  ),
};

const CALL = "id permits since lasted site";
const EVENT = "id kind name key permits at";

const DIAGNOSTICS: Readonly<Record<string, string>> = {
  Observer: "wait grant giveUp release",
  ObservedCall: "id thing permits state since hasWaited site",
  ObservedThing: "kind name key isHeld isRemote label",
  DiagnosticEvent: EVENT,
  WaitEvent: EVENT,
  GrantEvent: `${EVENT} waited`,
  GiveUpEvent: `${EVENT} waited outcome`,
  ReleaseEvent: `${EVENT} held outcome`,
  MetricsOptions: "name",
  MeterLike: "createHistogram createUpDownCounter createCounter",
  HistogramLike: "record",
  CounterLike: "add",
  MetricOptions: "description unit advice",
  Trace: "dropped toJSON",
  TraceOptions: "limit",
  TraceJson: "traceEvents displayTimeUnit otherData",
  ThingSnapshot: "kind name key holders waiters",
  CallSnapshot: CALL,
  CallSite: "file line column toString",
  Watchdog: "findings",
  WatchdogOptions: "waited held self sites report",
  Finding: "kind message calls",
  FoundCall: `${CALL} state kind name key`,
  TraceEvent: "ph name cat ts dur pid tid id bp args",
  ...without("observe GiveUpOutcome channels metrics trace snapshot watchdog DeadlockError SyncError"),
};

const WEB: Readonly<Record<string, string>> = {
  ...HOLDING,
  WebLock: `${ACQUIRABLE} wrap name mode`,
  WebRwLock: "name reader writer",
  WebRwLockSide: `${ACQUIRABLE} wrap`,
  WebGuard: "held release signal",
  WebLockOptions: "mode locks",
  WebRwLockOptions: "locks",
  WebLockManager: "request query",
  Guard: "held release",
  ...without("WebLockMode SyncError TimeoutError LeaseLostError"),
};

/** By entry point. */
export const PUBLIC_NAMES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  ".": { ...LOCAL, ...POOL, ...SHUTDOWN },
  "./redis": REDIS,
  "./web": WEB,
  "./diagnostics": DIAGNOSTICS,
  "./dashboard": { ...without("dashboard Dashboard"), DashboardOptions: "hosts streams" },
};
