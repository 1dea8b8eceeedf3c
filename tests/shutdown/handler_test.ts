/** The handler called directly, as a server that says nothing about what it has sent would do. */
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { InFlight, WorkInFlight } from "../../lib/shutdown/in_flight.ts";
import { test } from "../_test.ts";
import { deferred, flushMicrotasks, nextTurn, watch } from "../_tools.ts";
import { finish, quiet, writtenBody } from "./client.ts";

const URL_ = "http://localhost/path?query=1";
const bytes = (text: string) => new TextEncoder().encode(text);

test("handler: arguments, this, status, headers and body pass through", async () => {
  const shutdown = quiet();
  const self = {
    name: "self",
    handler: shutdown.handler(async function (this: { name: string }, request: Request, a: number, b: string) {
      const text = `${this.name} ${a} ${b} ${await request.text()}`;
      return new Response(text, { status: 201, statusText: "Made", headers: { "x-own": "1" } });
    }),
  };
  const answer = await self.handler(new Request(URL_, { method: "POST", body: "in" }), 7, "b");
  assert.deepEqual([answer.status, answer.statusText, answer.headers.get("x-own")], [201, "Made", "1"]);
  assert.equal(answer.headers.get("connection"), null);
  assert.equal(await answer.text(), "self 7 b in");
  assert.equal(shutdown.active, 0);
});

test("handler: a request is counted while its handler works, and labelled", async () => {
  const shutdown = quiet();
  const { promise, resolve } = deferred<void>();
  const slow = () => promise.then(() => new Response("x"));
  const plain = shutdown.handler(slow)(new Request(URL_));
  const named = shutdown.handler(slow, { label: ({ url }) => `by hand ${url.length}` });
  const other = named(new Request(URL_, { method: "DELETE" }));
  assert.deepEqual(shutdown.labels, ["GET /path", `by hand ${URL_.length}`]);
  resolve();
  await Promise.all([plain, other]);
  assert.equal(shutdown.active, 0);
});

test("handler: a label that is no text, or throws, gives way to method and path", async () => {
  const shutdown = quiet({ grace: 10 });
  const noTexts = [42, Symbol("x"), {}, Promise.resolve("x"), undefined].map((label) => () => label as never);
  const labels = [...noTexts, () => assert.fail("boom")];
  for (const label of labels) {
    void shutdown.handler(() => new Promise<Response>(() => {}), { label })(new Request(URL_));
  }
  assert.deepEqual((await finish(shutdown)).remaining, labels.map(() => "GET /path"));
});

test("handler: a large body is in flight on Deno until it is sent, also if a server of another kind is attached", async () => {
  const shutdown = quiet();
  shutdown.attach(createServer());
  const { promise: completed, resolve } = deferred<void>();
  const handler = shutdown.handler(() => new Response("x".repeat(1_000_000)));
  const answer = await (handler as (...args: unknown[]) => Promise<Response>)(new Request(URL_), { completed });
  assert.equal(shutdown.active, 1);
  assert.equal((await answer.text()).length, 1_000_000);
  resolve();
  await nextTurn();
  assert.equal(shutdown.active, 0);
});

test("handler: a streamed body is counted until it was read to the end", async () => {
  const shutdown = quiet();
  const { body, out, send } = writtenBody();
  const answer = await shutdown.handler(() => new Response(body))(new Request(URL_));
  shutdown.request();
  const finished = watch(shutdown.finished);
  const reader = answer.body!.getReader();
  send("one");
  assert.equal(new TextDecoder().decode((await reader.read()).value), "one");
  send("two");
  out.close();
  await nextTurn();
  assert.deepEqual([finished.state, shutdown.labels], ["pending", ["GET /path"]]);
  assert.equal(new TextDecoder().decode((await reader.read()).value), "two");
  assert.equal((await reader.read()).done, true);
  assert.equal((await shutdown.finished).drained, true);
});

test("handler: a streamed body is counted until it was cancelled, and the source hears of it", async () => {
  const shutdown = quiet();
  const { body, cancelled } = writtenBody();
  const answer = await shutdown.handler(() => new Response(body))(new Request(URL_));
  assert.equal(shutdown.active, 1);
  await answer.body!.cancel("gone");
  assert.deepEqual([shutdown.active, cancelled], [0, ["gone"]]);
});

test("handler: a streamed body that fails fails for the reader, and is not counted any more", async () => {
  const shutdown = quiet();
  const { body, out, send } = writtenBody();
  const answer = await shutdown.handler(() => new Response(body))(new Request(URL_));
  const boom = new Error("boom");
  send("some");
  const reader = answer.body!.getReader();
  await reader.read();
  out.error(boom);
  await assert.rejects(reader.read(), boom);
  assert.equal(shutdown.active, 0);
});

test("handler: a body that failed before its first piece fails for the reader", async () => {
  const shutdown = quiet();
  const boom = new Error("boom");
  const body = new ReadableStream({ start: (controller) => controller.error(boom) });
  const answer = await shutdown.handler(() => new Response(body))(new Request(URL_));
  await assert.rejects(answer.text(), boom);
  assert.equal(shutdown.active, 0);
});

test("handler: a streamed body is read no faster than its reader reads", async () => {
  const shutdown = quiet();
  let pulled = 0;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      pulled++;
      controller.enqueue(bytes(`${pulled} `));
      if (pulled === 100) controller.close();
    },
  }, { highWaterMark: 0 });
  const answer = await shutdown.handler(() => new Response(body))(new Request(URL_));
  await nextTurn();
  assert.ok(pulled <= 2, `${pulled} pulled before anybody read`);
  const reader = answer.body!.getReader();
  for (let i = 0; i < 10; i++) await reader.read();
  await nextTurn();
  assert.ok(pulled >= 10 && pulled <= 12, `${pulled} pulled after 10 reads`);
  let rest = 0;
  while (!(await reader.read()).done) rest++;
  assert.deepEqual([rest, pulled, shutdown.active], [90, 100, 0]);
});

test("handler: answers that are complete are not waited for, whether read or not", async () => {
  const shutdown = quiet();
  const answers = [
    () => new Response("text"),
    () => new Response(bytes("bytes")),
    () => new Response(new URLSearchParams({ a: "1" })),
    () => Response.json({ a: 1 }),
    () => new Response(""),
    () => new Response(null),
    () => new Response(null, { status: 204 }),
    () => new Response(null, { status: 304 }),
    () => Response.redirect("http://localhost/elsewhere"),
  ];
  for (const answer of answers) {
    const expected = answer();
    const got = await shutdown.handler(answer)(new Request(URL_));
    assert.deepEqual([got.status, shutdown.active], [expected.status, 0], String(answer));
    assert.deepEqual([...got.headers], [...expected.headers]);
    assert.equal(await got.text(), await expected.text());
  }
});

test("handler: what is not sent is passed on as it is: no answer, one that was read, a HEAD request's body", async () => {
  const shutdown = quiet();
  const [read, unread] = [new Response("x"), new Response(writtenBody().body)];
  await read.text();
  for (const [method, answer] of [["GET", undefined], ["GET", read], ["HEAD", unread]] as const) {
    assert.equal(await shutdown.handler(() => answer)(new Request(URL_, { method })), answer);
    assert.equal(shutdown.active, 0);
  }
});

test("handler: what the handler throws passes through, at once or later, and is not counted", async () => {
  const shutdown = quiet();
  const boom = new Error("boom");
  const sync = shutdown.handler((): Response => assert.fail(boom));
  await assert.rejects(sync(new Request(URL_)), boom);
  await assert.rejects(shutdown.handler(() => Promise.reject<Response>(boom))(new Request(URL_)), boom);
  assert.equal(shutdown.active, 0);
});

for (const late of ["serve", "refuse"] as const) {
  test(`handler: requests that come while draining get an answer or 503, as asked: ${late}`, async () => {
    const shutdown = quiet({ retryAfter: 2500, late });
    const { promise, resolve } = deferred<Response>();
    const handler = shutdown.handler(({ url }) => url.endsWith("/early") ? promise : new Response("late"));
    const early = handler(new Request("http://localhost/early"));
    let first: Promise<Response> | undefined;
    shutdown.signal.addEventListener("abort", () => first = handler(new Request(URL_)));
    shutdown.request();
    for (const answer of [await first!, await handler(new Request(URL_))]) {
      const { status, headers } = answer;
      const expected = late === "serve" ? [200, "close", null] : [503, "close", "3"];
      assert.deepEqual([status, headers.get("connection"), headers.get("retry-after")], expected);
      assert.equal(await answer.text(), late === "serve" ? "late" : "The server is shutting down.\n");
    }
    resolve(new Response("early"));
    const answer = await early;
    assert.deepEqual([answer.status, answer.headers.get("connection")], [200, "close"]);
    await answer.text();
    assert.equal((await shutdown.finished).drained, true);
    assert.equal((await handler(new Request(URL_))).status, 503, "the drain is over");
  });
}

const headers = { connection: "keep-alive" };
/** Ways to make an answer; the last ones have immutable headers. */
const ANSWERS: Record<string, () => Response | Promise<Response>> = {
  "headers": () => new Response("done", { headers }),
  "a stream": () => new Response(new Blob(["done"]).stream(), { headers }),
  "set": () => {
    const response = new Response("done");
    response.headers.set("Connection", "keep-alive");
    return response;
  },
  "a redirect": () => Response.redirect("http://localhost/elsewhere"),
  "an answer of fetch": () => fetch("data:text/plain,done"),
};

test("handler: during the delay newcomers are served, and told to close, however the answer is made", async () => {
  for (const [name, answer] of Object.entries(ANSWERS)) {
    const shutdown = quiet({ delay: 20 });
    const handler = shutdown.handler(answer);
    const { status, headers } = await handler(new Request(URL_));
    assert.notEqual(headers.get("connection"), "close", name);
    shutdown.request();
    const late = await handler(new Request(URL_));
    assert.deepEqual([late.status, late.headers.get("connection")], [status, "close"], name);
    assert.equal(late.headers.get("location"), headers.get("location"));
    assert.equal(await late.text(), name === "a redirect" ? "" : "done", name);
    await shutdown.finished;
  }
});

test("handler: when forced, a request without a response gets 503, and the body of a late response is cancelled", async () => {
  const shutdown = quiet({ grace: 10 });
  const { promise, resolve } = deferred<Response>();
  const { body, cancelled } = writtenBody();
  const answer = shutdown.handler(() => promise)(new Request(URL_));
  shutdown.request();
  assert.equal((await answer).status, 503);
  assert.deepEqual((await shutdown.finished).remaining, ["GET /path"]);
  resolve(new Response(body));
  await flushMicrotasks();
  assert.equal(cancelled.length, 1);
  const rejected = deferred<Response>();
  const other = quiet({ grace: 10 });
  const failing = other.handler(() => rejected.promise)(new Request(URL_));
  other.request();
  assert.equal((await failing).status, 503);
  rejected.reject(new Error("nobody is interested any more"));
  await flushMicrotasks();
});

test("handler: when forced, a streamed body breaks off on both sides", async () => {
  const shutdown = quiet({ grace: 10 });
  const { body, send, cancelled } = writtenBody();
  const answer = await shutdown.handler(() => new Response(body))(new Request(URL_));
  send("some");
  const reader = answer.body!.getReader();
  await reader.read();
  const rest = watch(reader.read());
  assert.deepEqual((await finish(shutdown)).remaining, ["GET /path"]);
  await flushMicrotasks();
  assert.equal((rest.reason as Error).name, "AbortError");
  assert.equal((cancelled[0] as Error).name, "AbortError");
});

/** A clock that stands still, so that the wait for a calm turn has no limit which a busy machine reaches. */
function standingClock(): Disposable {
  const { now } = performance;
  const moment = performance.now();
  performance.now = () => moment;
  return { [Symbol.dispose]: () => void (performance.now = now) };
}

test("handler: a server stops listening in a calm turn, and what is answered until then waits for that", async () => {
  using _ = standingClock();
  const shutdown = quiet({ idle: 0 });
  const handle = shutdown.handler(() => new Response("x"));
  let [handled, handledBefore] = [0, NaN];
  shutdown.attach({ shutdown: () => Promise.resolve(void (handledBefore = handled)) });
  const answer = async () => {
    handled++;
    return (await handle(new Request(URL_))).headers.get("connection");
  };
  assert.equal(await answer(), null);
  shutdown.request();
  const late: Promise<string | null>[] = [];
  for (let i = 0; i < 5; i++) { // each turn has one more
    late.push(answer());
    await new Promise((resolve) => setTimeout(resolve, 0));
  }
  assert.equal(handledBefore, NaN);
  assert.deepEqual(await Promise.all(late), Array(5).fill("close"));
  assert.equal((await shutdown.finished).ok, true);
  assert.equal(handledBefore, 6);
});

test("handler: responses that were held back wait for the turn after the server was told to stop listening", async () => {
  const shutdown = quiet({ idle: 0 });
  const handle = shutdown.handler(() => new Response("x"));
  let [answered, answeredInTurn] = [false, true];
  shutdown.attach({
    shutdown: async () => {
      for (let i = 0; i < 100; i++) await null; // all microtasks of this turn
      answeredInTurn = answered;
    },
  });
  shutdown.request();
  await handle(new Request(URL_));
  answered = true;
  assert.equal((await shutdown.finished).ok, true);
  assert.equal(answeredInTurn, false);
});

for (const when of ["behind answers that are being sent", "after 250 ms, although answers are being sent"]) {
  test(`handler: a server stops listening ${when}`, async () => {
    const ends = when.startsWith("behind");
    using _ = ends ? standingClock() : undefined;
    const shutdown = quiet({ idle: 0 });
    const { body, out } = writtenBody();
    const handle = shutdown.handler(() => new Response(body));
    let sending = true;
    let sendingAtStop: boolean | undefined;
    shutdown.attach({ shutdown: () => Promise.resolve(void (sendingAtStop = sending)) });
    const answer = await handle(new Request(URL_));
    shutdown.request();
    if (!ends) { while (sendingAtStop === undefined) await nextTurn(); }
    else for (let i = 0; i < 4; i++) await nextTurn();
    sending = false;
    out.close();
    await answer.text();
    assert.equal((await shutdown.finished).ok, true);
    assert.equal(sendingAtStop, !ends);
  });
}

test("handler: work whose end nothing reports does not pile up", () => {
  const work = new WorkInFlight();
  class Over extends InFlight {
    override isOver(): boolean {
      return true;
    }
  }
  let most = 0;
  for (let i = 0; i < 2000; i++) {
    work.add(new Over());
    most = Math.max(most, work.size);
  }
  assert.ok(most < 200, `${most} at once`);
});
