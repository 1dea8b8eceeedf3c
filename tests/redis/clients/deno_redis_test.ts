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
import { flushMicrotasks, watch, withFakeTime } from "../../_tools.ts";
import { type Message, subscriptionOf } from "./_deno_redis_double.ts";
import { fails, subscribe } from "./_doubles.ts";

/** A client whose commands are not called. */
const clientOf = (members: Partial<DenoRedisClient> = {}) => ({ evalsha: fails, eval: fails, ...members });

test("denoRedis: the same pair gives the same backend", () => {
  const client = clientOf({ isClosed: false });
  const [subscriber, other] = [{ subscribe: fails }, { subscribe: fails }];
  assert.equal(denoRedis(client), denoRedis(client));
  assert.notEqual(denoRedis(client), denoRedis(client, subscriber));
  const backend = denoRedis(client, subscriber);
  assert.notEqual(denoRedis(client, other), backend);
  assert.equal(denoRedis(client, subscriber), backend);
  assert.equal(denoRedis(client).subscribe, undefined);
  assert.equal(typeof denoRedis(client, subscriber).subscribe, "function");
});

/** A double of a subscribed connection, of which a test sends the messages and the end. */
class Subscriber extends EventTarget implements DenoRedisSubscriber {
  readonly channels: string[] = [];
  loops = 0;
  works = true;
  #messages!: ReadableStreamDefaultController<Message>;

  async subscribe(channel: string): Promise<DenoRedisSubscription> {
    await flushMicrotasks();
    if (!this.works) throw new Error("no connection");
    this.channels.push(channel);
    this.loops++;
    const messages = new ReadableStream<Message>({ start: (controller) => void (this.#messages = controller) });
    return subscriptionOf(messages, async (command, other) => {
      if (command === "SUBSCRIBE") this.channels.push(other);
      else this.channels.splice(this.channels.indexOf(other), 1);
      await flushMicrotasks();
    });
  }

  async push(channel: string, message: string): Promise<void> {
    this.#messages.enqueue({ channel, message });
    await flushMicrotasks();
  }

  /** Ends the connection for good, perhaps with an error. */
  async end(error?: Error): Promise<void> {
    this.channels.length = 0;
    if (error === undefined) this.#messages.close();
    else this.#messages.error(error);
    await flushMicrotasks();
  }
}

test("several clients of @db/redis share one subscribed connection", async () => {
  const subscriber = new Subscriber();
  const backends = [1, 2, 3].map(() => denoRedis(clientOf(), subscriber));
  const heard: string[] = [];
  const listen = (backend: Backend, i: number) =>
    backend.subscribe!(`channel ${i}`, (message) => heard.push(message), () => {});
  subscriber.works = false;
  const failed = await Promise.allSettled(backends.map(listen));
  assert.deepEqual(failed.map(({ status }) => status), ["rejected", "rejected", "rejected"]);
  subscriber.works = true;
  const stops = await Promise.all(backends.map(listen));
  assert.equal(subscriber.loops, 1);
  for (const i of [2, 0, 1]) await subscriber.push(`channel ${i}`, `to ${i}`);
  assert.deepEqual(heard, ["to 2", "to 0", "to 1"]);
  await stops[0]!();
  assert.deepEqual(subscriber.channels.sort(), ["channel 1", "channel 2"]);
  await subscriber.push("channel 0", "too late");
  assert.equal(heard.length, 3);
});

test("when the subscribed connection of @db/redis is lost, all are notified, and the next one starts afresh", async () => {
  const subscriber = new Subscriber();
  const backends = [0, 1].map(() => denoRedis(clientOf(), subscriber));
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
  subscriber.dispatchEvent(new Event("connect"));
  assert.deepEqual(told(), ["0 is back", "1 is back"]);
  await subscriber.end();
  assert.deepEqual(told(), ["0 is over", "1 is over"]);

  const again = await listen(backends[0]!, 0);
  await Promise.all(stops.map((stop) => stop())); // the end of an old subscription does not end a later one
  assert.deepEqual(subscriber.channels, ["channel 0"]);
  assert.equal(subscriber.loops, 2);
  await subscriber.push("channel 0", "hello");
  assert.deepEqual(told(), ["hello"]);
  await again();
  subscriber.dispatchEvent(new Event("connect"));
  await subscriber.end();
  assert.deepEqual(told(), []);
});

test("denoRedis: the end of a subscription leaves a later one to its channel alone", async () => {
  const wire: string[] = [];
  const held: (() => void)[] = [];
  const reply = (command: string) => {
    wire.push(command);
    return new Promise<void>((resolve) => held.push(resolve));
  };
  const subscription = subscriptionOf(new ReadableStream(), (command, channel) => reply(`${command} ${channel}`));
  const subscriber = { subscribe: (channel: string) => reply(`SUBSCRIBE ${channel}`).then(() => subscription) };
  const backend = denoRedis(clientOf(), subscriber);
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
  const addEventListener = (type: string, listener: () => void) => void listeners.set(type, listener);
  const client = { ...clientOf({ addEventListener }), isClosed: false };
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
  const answers: unknown[] = [new Error("-NOSCRIPT No matching script. Please use EVAL."), [1, 2]];
  const collect = (...command: unknown[]) => Promise.resolve(sent.push(command));
  const pipeline = { evalsha: collect, eval: collect, flush: () => Promise.resolve([answers.shift()]) };
  const backend = denoRedis(clientOf({ pipeline: () => pipeline }));
  await assert.rejects(backend.evalsha("sha", ["key"], ["1"]), /NOSCRIPT/);
  assert.deepEqual(await backend.eval("script", ["key"], ["1"]), [1, 2]);
  assert.deepEqual(sent, [["sha", ["key"], ["1"]], ["script", ["key"], ["1"]]]);
});

test("denoRedis: a pool, whose members throw, is refused", () => {
  const pool = {
    ...clientOf(),
    subscribe: fails,
    get isClosed(): boolean {
      throw new Error("PoolClient.connection is not supported");
    },
  };
  const client = clientOf({ isClosed: false });
  assert.throws(() => denoRedis(pool), /^TypeError: client must be a single connection/);
  assert.throws(() => denoRedis(client, pool), /^TypeError: subscriber must be a single connection/);
});

test("denoRedis: a refused SUBSCRIBE is the error of the next subscription", async () => {
  const refused = new Error("-NOPERM this user has no permissions to run the 'subscribe' command");
  const subscriber = new Subscriber();
  const backend = denoRedis(clientOf(), subscriber);
  await subscribe(backend);
  await subscriber.end(refused);
  await assert.rejects(subscribe(backend), refused);
});

test("denoRedis: when the client reconnects, the subscriber does, too, unless it comes back by itself", () =>
  withFakeTime(async (time) => {
    let connected = () => {};
    const client = clientOf({
      addEventListener: (type, listener) => {
        if (type === "connect") connected = listener;
      },
    });
    const log: string[] = [];
    const subscriber = Object.assign(new Subscriber(), {
      close: () => {
        log.push("close");
        void subscriber.end();
      },
      connect: () => Promise.resolve(log.push("connect")),
    });
    const backend = denoRedis(client, subscriber);
    connected(); // no subscription yet: nothing to move
    let ends = 0;
    const listen = () => backend.subscribe!("a", () => {}, () => {}, () => void ends++);
    await listen();
    connected();
    subscriber.dispatchEvent(new Event("connect"));
    await time.pass(SUBSCRIBER_NOTICES);
    assert.deepEqual([log, subscriber.loops], [[], 1]);
    connected();
    await time.pass(SUBSCRIBER_NOTICES);
    assert.deepEqual(log, ["close", "connect"]);
    assert.equal(ends, 1); // so that the caller subscribes again
    await listen();
    assert.equal(subscriber.loops, 2);
  }));
