/** `denoRedis` over doubles of jsr:@db/redis; tests/jsr has the real one, and its types. */
import assert from "node:assert/strict";
import {
  type Backend,
  denoRedis,
  type DenoRedisClient,
  type DenoRedisSubscriber,
  type DenoRedisSubscription,
} from "../../../lib/redis/mod.ts";
import { test } from "../../_test.ts";
import { SUBSCRIBER_NOTICES } from "../../../lib/redis/times.ts";
import { flushMicrotasks, nextTurn, watch, withFakeTime } from "../../_tools.ts";

test("denoRedis: the same pair gives the same backend", () => {
  const call = () => Promise.reject(new Error("called"));
  const client = { isClosed: false, evalsha: call, eval: call };
  const [subscriber, other] = [{ subscribe: call }, { subscribe: call }];
  assert.equal(denoRedis(client), denoRedis(client));
  assert.notEqual(denoRedis(client), denoRedis(client, subscriber));
  const backend = denoRedis(client, subscriber);
  assert.notEqual(denoRedis(client, other), backend);
  assert.equal(denoRedis(client, subscriber), backend);
  assert.equal(denoRedis(client).subscribe, undefined);
  assert.equal(typeof denoRedis(client, subscriber).subscribe, "function");
});

/** A double of a subscribed connection: each event goes to the receiving loop that asks first. */
class Paper implements DenoRedisSubscriber {
  readonly channels: string[] = [];
  readonly events = new EventTarget();
  loops = 0;
  works = true;
  readonly #asking: ((result: IteratorResult<{ channel: string; message: string }>) => void)[] = [];

  async subscribe(channel: string): Promise<DenoRedisSubscription> {
    await nextTurn();
    if (!this.works) throw new Error("no connection");
    this.channels.push(channel);
    this.loops++;
    const next = () =>
      new Promise<IteratorResult<{ channel: string; message: string }>>((ask) => this.#asking.push(ask));
    return {
      receive: () => ({ [Symbol.asyncIterator]: () => ({ next }) }),
      subscribe: (another) => Promise.resolve(this.channels.push(another)),
      unsubscribe: (one) => Promise.resolve(this.channels.splice(this.channels.indexOf(one), 1)),
    };
  }

  addEventListener(type: string, listener: () => void): void {
    this.events.addEventListener(type, listener);
  }

  removeEventListener(type: string, listener: () => void): void {
    this.events.removeEventListener(type, listener);
  }

  async push(channel: string, message: string): Promise<void> {
    this.#asking.shift()!({ done: false, value: { channel, message } });
    await nextTurn();
  }

  /** Ends the connection for good. */
  async end(): Promise<void> {
    this.channels.length = 0;
    this.#asking.shift()!({ done: true, value: undefined });
    await nextTurn();
  }
}

test("several clients of @db/redis share one subscribed connection", async () => {
  const call = () => Promise.reject(new Error("called"));
  const paper = new Paper();
  const backends = [1, 2, 3].map(() => denoRedis({ evalsha: call, eval: call }, paper));
  const heard: string[] = [];
  const listen = (backend: Backend, i: number) =>
    backend.subscribe!(`channel ${i}`, (message) => heard.push(message), () => {});
  paper.works = false;
  const failed = await Promise.allSettled(backends.map(listen));
  assert.deepEqual(failed.map(({ status }) => status), ["rejected", "rejected", "rejected"]);
  paper.works = true;
  const stops = await Promise.all(backends.map(listen));
  assert.equal(paper.loops, 1);
  for (const i of [2, 0, 1]) await paper.push(`channel ${i}`, `to ${i}`);
  assert.deepEqual(heard, ["to 2", "to 0", "to 1"]);
  await stops[0]!();
  assert.deepEqual(paper.channels.sort(), ["channel 1", "channel 2"]);
  await paper.push("channel 0", "too late");
  assert.equal(heard.length, 3);
});

test("when the subscribed connection of @db/redis is lost, all are notified, and the next one starts afresh", async () => {
  const call = () => Promise.reject(new Error("called"));
  const paper = new Paper();
  const backends = [0, 1].map(() => denoRedis({ evalsha: call, eval: call }, paper));
  const heard: string[] = [];
  const listen = (backend: Backend, i: number) =>
    backend.subscribe!(
      `channel ${i}`,
      (message) => heard.push(message),
      () => heard.push(`${i} is back`),
      () => heard.push(`${i} is over`),
    );
  const told = () => heard.splice(0);
  const stops = await Promise.all(backends.map(listen));
  paper.events.dispatchEvent(new Event("connect"));
  assert.deepEqual(told(), ["0 is back", "1 is back"]);
  await paper.end();
  assert.deepEqual(told(), ["0 is over", "1 is over"]);

  const again = await listen(backends[0]!, 0);
  await Promise.all(stops.map((stop) => stop())); // the end of an old subscription does not end a later one
  assert.deepEqual(paper.channels, ["channel 0"]);
  assert.equal(paper.loops, 2);
  await paper.push("channel 0", "hello");
  assert.deepEqual(told(), ["hello"]);
  await again();
  paper.events.dispatchEvent(new Event("connect"));
  await paper.end();
  assert.deepEqual(told(), []);
});

test("denoRedis: the end of a subscription leaves a later one to its channel alone", async () => {
  const wire: string[] = [];
  const held: (() => void)[] = [];
  const reply = (command: string) => {
    wire.push(command);
    return new Promise<void>((resolve) => held.push(resolve));
  };
  const subscription: DenoRedisSubscription = {
    receive: () => ({ [Symbol.asyncIterator]: () => ({ next: () => new Promise<never>(() => {}) }) }),
    subscribe: (channel) => reply(`SUBSCRIBE ${channel}`),
    unsubscribe: (channel) => reply(`UNSUBSCRIBE ${channel}`),
  };
  const subscriber: DenoRedisSubscriber = {
    subscribe: (channel) => reply(`SUBSCRIBE ${channel}`).then(() => subscription),
  };
  const call = () => Promise.reject(new Error("called"));
  const backend = denoRedis({ isClosed: false, evalsha: call, eval: call } as unknown as DenoRedisClient, subscriber);
  const answered = async <T>(promise: Promise<T>) => {
    const watched = watch(promise);
    for (; watched.state === "pending"; await flushMicrotasks()) held.shift()?.();
    return watched.value!;
  };
  const [first, second] = [1, 2].map(() => backend.subscribe!("c", () => {}, () => {}));
  const ends = [await answered(first!), await answered(second!)];
  await answered(Promise.resolve(ends[0]!()));
  assert.ok(!wire.includes("UNSUBSCRIBE c"));
  await answered(Promise.resolve(ends[1]!()));
  assert.equal(wire.at(-1), "UNSUBSCRIBE c");
});

test("denoRedis: a connection that is lost and comes back closes nothing, and one that is closed does", () => {
  const listeners = new Map<string, () => void>();
  const call = () => Promise.reject(new Error("no connection"));
  const client = {
    evalsha: call,
    eval: call,
    isClosed: false,
    addEventListener: (type: string, listener: () => void) => void listeners.set(type, listener),
  };
  const backend = denoRedis(client);
  let closed = 0;
  backend.onClose!(() => closed++);
  const happens = (...events: string[]) => events.forEach((event) => listeners.get(event)?.());
  client.isClosed = true; // as of @db/redis 0.41.2, until it is connected again
  happens("close", "reconnecting");
  assert.deepEqual([backend.closed, closed], [false, 0]);
  happens("end", "reconnecting"); // after ten attempts; it goes on
  assert.deepEqual([backend.closed, closed], [false, 0]);
  client.isClosed = false;
  happens("connect");
  assert.deepEqual([backend.closed, closed], [false, 0]);
  client.isClosed = true;
  happens("close", "end");
  assert.deepEqual([backend.closed, closed], [true, 1]);
});

test("denoRedis: an error of the server is an answer, in a pipeline, so that the client does not repeat the command", async () => {
  const sent: unknown[][] = [];
  const never = () => Promise.reject(new Error("called"));
  const answers: unknown[] = [new Error("-NOSCRIPT No matching script. Please use EVAL."), [1, 2]];
  const collect = (...command: unknown[]) => Promise.resolve(sent.push(command));
  const pipeline = { evalsha: collect, eval: collect, flush: () => Promise.resolve([answers.shift()]) };
  const backend = denoRedis({ evalsha: never, eval: never, pipeline: () => pipeline });
  await assert.rejects(backend.evalsha("sha", ["key"], ["1"]), /NOSCRIPT/);
  assert.deepEqual(await backend.eval("script", ["key"], ["1"]), [1, 2]);
  assert.deepEqual(sent, [["sha", ["key"], ["1"]], ["script", ["key"], ["1"]]]);
});

test("denoRedis: a pool, whose members throw, is refused", () => {
  const call = () => Promise.reject(new Error("called"));
  const pool = {
    evalsha: call,
    eval: call,
    subscribe: call,
    get isClosed(): boolean {
      throw new Error("PoolClient.connection is not supported");
    },
  };
  const client = { evalsha: call, eval: call, isClosed: false };
  assert.throws(() => denoRedis(pool), /^TypeError: client must be a single connection/);
  assert.throws(() => denoRedis(client, pool), /^TypeError: subscriber must be a single connection/);
});

test("denoRedis: a refused SUBSCRIBE is the error of the next subscription", async () => {
  const refused = new Error("-NOPERM this user has no permissions to run the 'subscribe' command");
  const call = () => Promise.reject(new Error("called"));
  const subscription: DenoRedisSubscription = {
    receive: () => ({ [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(refused) }) }),
    subscribe: () => Promise.resolve(),
    unsubscribe: () => Promise.resolve(),
  };
  const backend = denoRedis({ evalsha: call, eval: call }, { subscribe: () => Promise.resolve(subscription) });
  const ended = new Promise<void>((resolve) => void backend.subscribe!("a", () => {}, () => {}, resolve));
  await ended;
  await assert.rejects(backend.subscribe!("a", () => {}, () => {}), refused);
});

test("denoRedis: when the client reconnects, the subscriber does, too, unless it comes back by itself", () =>
  withFakeTime(async (time) => {
    let connected = () => {};
    const client: DenoRedisClient = {
      evalsha: () => Promise.reject(new Error("called")),
      eval: () => Promise.reject(new Error("called")),
      addEventListener: (type, listener) => {
        if (type === "connect") connected = listener;
      },
    };
    const log: string[] = [];
    const events = new EventTarget();
    let end = () => {};
    const subscriber: DenoRedisSubscriber = {
      subscribe: (channel) => {
        log.push(`subscribe ${channel}`);
        const over = new Promise<IteratorResult<never>>((resolve) =>
          end = () => resolve({ done: true, value: undefined })
        );
        return Promise.resolve({
          receive: () => ({ [Symbol.asyncIterator]: () => ({ next: () => over }) }),
          subscribe: () => Promise.resolve(),
          unsubscribe: () => Promise.resolve(),
        });
      },
      close: () => {
        log.push("close");
        end();
      },
      connect: () => Promise.resolve(log.push("connect")),
      addEventListener: (_, listener) => void events.addEventListener("connect", listener),
      removeEventListener: (_, listener) => events.removeEventListener("connect", listener),
    };
    const backend = denoRedis(client, subscriber);
    connected(); // no subscription yet: nothing to move
    let ends = 0;
    const listen = () => backend.subscribe!("a", () => {}, () => {}, () => void ends++);
    await listen();
    connected();
    events.dispatchEvent(new Event("connect"));
    await time.pass(SUBSCRIBER_NOTICES);
    assert.deepEqual(log, ["subscribe a"]);
    connected();
    await time.pass(SUBSCRIBER_NOTICES);
    assert.deepEqual(log, ["subscribe a", "close", "connect"]);
    assert.equal(ends, 1); // so that the caller subscribes again
    await listen();
    assert.equal(log.at(-1), "subscribe a");
  }));
