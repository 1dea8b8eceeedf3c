import assert from "node:assert/strict";
import { KeyedMutex, Lock } from "../../mod.ts";
import { dashboard } from "../../lib/dashboard/mod.ts";
import { observe, watchdog } from "../../lib/diagnostics/mod.ts";
import { drawHistogram, Histogram } from "../../lib/dashboard/histogram.ts";
import { Tracks } from "../../lib/dashboard/tracks.ts";
import { quote } from "../../lib/internal/check.ts";
import { hook } from "../../lib/internal/hook.ts";
import { test } from "../_test.ts";
import { nextTurn, withFakeTime } from "../_tools.ts";
import { Thing } from "../diagnostics/_tools.ts";

const ADDRESS = "http://localhost/debug/locks";

/** The parts of one page, as they are after a number of updates. */
class Reader implements AsyncDisposable {
  readonly parts: Record<string, string> = {};
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;

  constructor(show: (request: Request) => Response, thing = "") {
    const { body, headers } = show(
      new Request(`${ADDRESS}?${new URLSearchParams({ events: "", thing, width: "600" })}`),
    );
    assert.equal(headers.get("content-type"), "text/event-stream");
    assert.equal(headers.get("cache-control"), "no-store, no-transform");
    this.#reader = body!.getReader();
  }

  async update(): Promise<this> {
    const awake = setInterval(() => {}, 1000); // updates keep no process alive
    const { value, done } = await this.#reader.read().finally(() => clearInterval(awake));
    assert.equal(done, false);
    const text = new TextDecoder().decode(value);
    assert.match(text, /^(data: .*|:)\n\n$/);
    if (text.startsWith("data: ")) Object.assign(this.parts, JSON.parse(text.slice(6)));
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#reader.cancel();
  }
}

test("dashboard: a page without anything to load, whose script alone may run", async () => {
  using show = dashboard();
  const response = show(new Request(ADDRESS));
  assert.equal(response.status, 200);
  const [, nonce] = /script-src 'nonce-([\w-]+)'/.exec(response.headers.get("content-security-policy")!)!;
  const html = await response.text();
  assert.deepEqual([...html.matchAll(/<script(.*?)>/g)].map(([, attributes]) => attributes), [` nonce="${nonce}"`]);
  assert.doesNotMatch(html, /(src|href)="(?!data:)/);
  assert.match(html, /keep it behind authentication/);
  const again = show(new Request(ADDRESS)).headers.get("content-security-policy")!;
  assert.ok(!again.includes(nonce!));
});

test("dashboard: a request of another kind is refused by an error that shows how to mend it", () => {
  using show = dashboard();
  const ofNode = { method: "GET", url: "/locks", headers: {} };
  const ofHono = { method: "GET", url: ADDRESS, header: () => undefined }; // c.req in place of c.req.raw
  for (const wrong of [ofNode, ofHono, { req: new Request(ADDRESS) }, undefined]) {
    assert.throws(() => show(wrong as never), {
      name: "TypeError",
      message: /^request must be a Request of the fetch standard \(a server of node:http needs an adapter, such as/,
    });
  }
});

test("dashboard: it reads only", async () => {
  using show = dashboard();
  for (const method of ["POST", "PUT", "DELETE"]) {
    const response = show(new Request(ADDRESS, { method }));
    assert.equal(response.status, 405);
    assert.equal(response.headers.get("allow"), "GET, HEAD");
    await response.body?.cancel();
  }
});

test("dashboard: things by waiting time, one of them in detail", async () => {
  using show = dashboard();
  await using reader = new Reader(show);
  await reader.update();
  assert.match(reader.parts["things"]!, /Nothing has been acquired yet/);
  const quick = new Thing("lock", "quick"), slow = new Thing("semaphore", "slow"), guard = {};
  quick.grant(guard);
  quick.release(guard);
  slow.grant({}, 2);
  slow.wait({});
  slow.wait({});
  slow.timeOut({});
  await using other = new Reader(show, 'lock "quick"');
  await other.update();
  assert.match(other.parts["detail"]!, /<h2>lock "quick"<\/h2>/);
  await reader.update();
  const { numbers, things } = reader.parts;
  assert.match(numbers!, /^<span>2 primitives<\/span><span>1 holder<\/span><span>2 waiters<\/span>/);
  assert.match(things!, /semaphore "slow".*<td class="">1<\/td><td class="">2<\/td>/);
  const first = /aria-pressed="false">([^<]*)</.exec(things!)![1]!; // the page marks the one in detail
  assert.ok(reader.parts["detail"]!.includes(`<h2>${first}</h2>`));
});

test("dashboard: each cell is in the column of its head", async () => {
  using show = dashboard();
  const thing = new Thing("lock", "orders"), guard = {};
  for (let i = 0; i < 5; i++) {
    const passing = {};
    thing.grant(passing);
    thing.release(passing);
  }
  thing.grant(guard);
  for (let i = 0; i < 3; i++) thing.wait({});
  await using reader = await new Reader(show).update();
  const html = await show(new Request(ADDRESS)).text();
  const heads = [...html.matchAll(/<th scope="col"[^>]*>([^<]*)</g)].map(([, head]) => head!);
  const cells = [...reader.parts["things"]!.matchAll(/<t[hd][ >](.*?)<\/t[hd]>/g)].map(([, cell]) => cell!);
  assert.equal(cells.length, heads.length);
  const text = (head: string) => cells[heads.indexOf(head)]!.replace(/.*?>|<.*/g, "");
  assert.deepEqual([text("Holders"), text("Waiters"), text("Grants")], ["1", "3", "6"]);
  assert.match(cells[heads.indexOf("Primitive")]!, /lock "orders"/);
});

test("dashboard: events per second, measured over at least a second", async () => {
  await withFakeTime((time) => {
    const tracks = new Tracks();
    using _ = observe(tracks);
    const thing = new Thing("lock", "orders");
    for (let i = 0; i < 30; i++) thing.grant({});
    time.advance(999);
    assert.equal(tracks.perSecond, 0);
    time.advance(501);
    assert.equal(tracks.perSecond, 20);
    time.advance(2000);
    assert.equal(tracks.perSecond, 0);
    return Promise.resolve();
  });
});

test("dashboard: a deadlock is shown by name, with file and line if a watchdog is on", async () => {
  using show = dashboard();
  using _ = watchdog({ report() {} });
  const accounts = new KeyedMutex<string>();
  const controller = new AbortController();
  const transfer = (from: string, to: string) =>
    accounts.run(from, async () => {
      await nextTurn();
      await accounts.run(to, () => {}, { signal: controller.signal });
    });
  const transfers = Promise.allSettled([transfer("alice", "bob"), transfer("bob", "alice")]);
  await using reader = new Reader(show);
  // Two updates a second at most, however slow the machine: a few of them, not the twenty of a watchdog's long wait.
  for (let updates = 0; !reader.parts["alerts"]; updates++) {
    assert.ok(updates < 8, "not shown yet");
    await reader.update();
  }
  assert.match(
    reader.parts["alerts"]!,
    /<h2>Deadlock<\/h2><p>2 runs wait for each other.*<li>one has held lock for key "alice" .*dashboard_test\.ts:\d+/,
  );
  controller.abort();
  await transfers;
  await reader.update();
  await reader.update();
  assert.equal(reader.parts["alerts"], "");
});

test("dashboard: a re-entrant lock is a deadlock with itself", async () => {
  using show = dashboard();
  const lock = new Lock();
  const controller = new AbortController();
  const outer = lock.run(() => lock.acquire({ signal: controller.signal })).catch(() => {});
  await using reader = new Reader(show);
  while (!reader.parts["alerts"]) await reader.update();
  assert.match(reader.parts["alerts"]!, /<h2>Deadlock with itself<\/h2><p>a call has waited for lock #\d+ for/);
  controller.abort();
  await outer;
});

test("dashboard: thousands of things and events are sampled, and it says so", async () => {
  using show = dashboard();
  for (let i = 0; i < 5000; i++) {
    const lock = new Thing("key", "users", i % 2000), busy = new Thing("lock", "busy"), guard = {}, other = {};
    for (const thing of [lock, busy]) {
      thing.grant(guard);
      thing.release(guard);
      thing.grant(other);
      thing.release(other);
    }
  }
  await using reader = await new Reader(show, 'lock "busy"').update();
  const { things, detail } = reader.parts;
  assert.equal(things!.match(/<tr/g)!.length, 16);
  assert.match(things!, /and 985 primitives that waited less/);
  assert.match(detail!, /Sampled: not every wait and hold below 0\.1 s is drawn; the numbers count all\./);
  assert.match(detail!, /aria-label="Holding: \d{4,}/);
  assert.ok(detail!.length < 50_000);
});

test("dashboard: disposing of it ends the streams, opens no more, and stops observing", async () => {
  const show = dashboard();
  assert.notEqual(hook, undefined);
  const { body } = show(new Request(`${ADDRESS}?events`));
  const reader = body!.getReader();
  await reader.read();
  show[Symbol.dispose]();
  assert.equal((await reader.read()).done, true);
  assert.equal(hook, undefined);
  assert.equal(show(new Request(`${ADDRESS}?events`)).status, 503, "it opens no stream, which nothing would end");
});

test("dashboard: requests for this machine, and for the hosts that are listed", async () => {
  using show = dashboard({ hosts: ["Locks.Example.com", "admin.internal:8080"] });
  const statusOf = async (url: string, host?: string) => {
    const response = show(new Request(url, host === undefined ? {} : { headers: { host } }));
    await response.body?.cancel();
    return response.status;
  };
  for (
    const host of ["localhost", "localhost:9100", "a.localhost", "127.0.0.1:1", "127.9.9.9", "[::1]:80", "LOCALHOST."]
  ) {
    assert.equal(await statusOf(`http://${host}/`), 200, host);
  }
  for (const host of ["locks.example.com", "locks.example.com:8443", "ADMIN.internal"]) {
    assert.equal(await statusOf(`https://${host}/locks?events`), 200, host);
  }
  const foreign = [
    "evil.example",
    "localhost.evil.example",
    "127.0.0.1.evil.example",
    "10.0.0.1",
    "example.com",
    "[::2]",
  ];
  for (const host of foreign) {
    for (const path of ["", "?events"]) assert.equal(await statusOf(`http://${host}/${path}`), 403, host);
  }
  // What a server of its own puts into the URL does not count where the client has said its host.
  for (const host of ["evil.example", "", "evil.example@localhost", "localhost/.evil.example", "localhost#", "a b"]) {
    assert.equal(await statusOf("http://localhost/", host), 403, host);
  }
  assert.equal(await statusOf("http://10.0.0.1:3000/", "locks.example.com"), 200);
  const refused = show(new Request("http://evil.example/"));
  assert.equal(await refused.text(), '"evil.example" is not listed in the option hosts of dashboard().\n');
});

test("dashboard: wrong options are refused", () => {
  const wrong: [unknown, typeof TypeError | typeof RangeError, RegExp][] = [
    [5, TypeError, /^options must be an object such as \{ hosts \}, got 5$/],
    [{ hosts: "localhost" }, TypeError, /^hosts must be an array, got "localhost"$/],
    [{ hosts: [5] }, TypeError, /^hosts\[0\] must be a string, got 5$/],
    [{ hosts: [""] }, RangeError, /^hosts\[0\] must not be empty/],
    [
      { hosts: ["http://a"] },
      RangeError,
      /^hosts\[0\] must be a host name such as "locks.example.com", got "http:\/\/a"$/,
    ],
    [{ hosts: ["*.example.com"] }, RangeError, /^hosts\[0\] must be a host name/],
    [
      new Request(ADDRESS),
      TypeError,
      /^options must not be a request: pass dashboard\(\), which returns the handler, got /,
    ],
    [{ req: new Request(ADDRESS) }, TypeError, /^options must not be a request/],
    [{ streams: 0 }, RangeError, /^streams must be a whole number of 1 or more, got 0$/],
    [{ streams: "5" }, TypeError, /^streams must be a number, got "5"$/],
  ];
  for (const [options, name, message] of wrong) {
    assert.throws(
      () => dashboard(options as never),
      (error: Error) => error instanceof name && message.test(error.message),
    );
  }
  assert.equal(hook, undefined);
});

test("dashboard: HEAD ends, also for the stream, of which it takes none", () => {
  using show = dashboard({ streams: 1 });
  for (const path of ["", "?events", "?events"]) {
    const { status, body } = show(new Request(`${ADDRESS}${path}`, { method: "HEAD" }));
    assert.deepEqual([status, body], [200, null]);
  }
});

test("dashboard: at most so many pages, of which those that are never read make room", () =>
  withFakeTime(async (time) => {
    using show = dashboard({ streams: 2 });
    const open = () => show(new Request(`${ADDRESS}?events`));
    const first = open(), second = open();
    const third = open();
    assert.deepEqual([third.status, third.headers.get("retry-after")], [503, "5"]);
    assert.equal(await third.text(), "Too many pages are open: 2.\n");
    await second.body!.cancel();
    const fourth = open().body!.getReader();
    assert.equal((await fourth.read()).done, false);
    for (let i = 0; i < 70; i++) { // the first one never reads
      await time.pass(500, 500);
      if (i < 60) await fourth.read();
    }
    const fifth = open();
    assert.equal(fifth.status, 200);
    await Promise.all([first.body!.cancel(), fourth.cancel(), fifth.body!.cancel()]);
  }));

test("dashboard: the state is read once a period, however many pages are open", () =>
  withFakeTime(async (time) => {
    using show = dashboard({ streams: 1000 });
    const readers = Array.from({ length: 100 }, () => show(new Request(`${ADDRESS}?events`)).body!.getReader());
    await Promise.all(readers.map((reader) => reader.read()));
    const { started } = time;
    let reads = 0;
    const before = Number.prototype.toLocaleString;
    Number.prototype.toLocaleString = function (...rest) {
      reads++;
      return before.apply(this, rest);
    };
    try {
      const updates = readers.map((reader) => reader.read());
      await time.pass(500, 500);
      await Promise.all(updates);
    } finally {
      Number.prototype.toLocaleString = before;
    }
    assert.ok(reads > 0 && reads < 10, `${reads} numbers were written`);
    assert.ok(time.started - started <= 2, "one timer for all");
    await Promise.all(readers.map((reader) => reader.cancel()));
  }));

test("dashboard: whatever a name, a key or a class looks like, the page has no controls, markup or endless text", async () => {
  using show = dashboard();
  const evil = "\n\u0085\u009b\u2028\u202e\u2066\u200f\ud800</h2>\"'><img src=x onerror=alert(1)><script>${{}}&#60;";
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  const classNamed = (name: string) => Object.create({ constructor: { name } });
  const keys = [
    evil,
    evil.repeat(10_000),
    Symbol(evil),
    classNamed(evil),
    proxy,
    Object.defineProperty(() => {}, "name", { value: evil }),
  ];
  for (const key of keys) new Thing("key", evil, key).grant({});
  for (const key of keys) {
    const label = `lock ${quote(evil)} for key ${quote(key)}`;
    await using reader = await new Reader(show, label).update();
    const html = Object.values(reader.parts).join("");
    assert.ok(html.length < 100_000, `${html.length}`);
    assert.doesNotMatch(html, /[\p{Cc}\p{Bidi_C}\p{Cs}\u2028\u2029]|<img|<script/u);
    assert.ok(
      reader.parts["detail"]!.startsWith(
        `<h2>${label.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;")}</h2>`,
      ),
    );
  }
});

test("dashboard: the numbers below a histogram stand where the classes of its bars end", () => {
  const waits = new Histogram();
  assert.match(drawHistogram("Waiting", waits), />None has ended yet\.</);
  waits.add(2);
  for (let i = 0; i < 1200; i++) waits.add(50);
  const picture = drawHistogram("Waiting", waits);
  const ends = new Map(
    [...picture.matchAll(/<rect x="(\d+)".*?: (?:from .*?)?to (.*?)</g)].map(([, x, end]) => [x, end]),
  );
  const numbers = [...picture.matchAll(/<text x="(\d+)" y="96">(.*?)</g)];
  assert.equal(numbers.length, 10);
  assert.match(picture, />1<\/text>.*>1\.2K<\/text>/, "the numbers of durations above the bars");
  for (const [, x, text] of numbers) {
    assert.equal(ends.get(`${Number(x) - 25}`), text!.replace(/^(?!1 ms)\d+$/, "$& ms"));
  }
});
