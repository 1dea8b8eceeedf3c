import assert from "node:assert/strict";
import { KeyedMutex, Lock } from "../../../mod.ts";
import { dashboard, watchdog } from "../../../lib/diagnostics/mod.ts";
import { hook } from "../../../lib/internal/hook.ts";
import { test } from "../../_test.ts";
import { nextTurn } from "../../_tools.ts";
import { Thing } from "../_tools.ts";

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
  for (const wrong of [ofNode, { req: new Request(ADDRESS) }, undefined]) {
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
  const head = show(new Request(ADDRESS, { method: "HEAD" }));
  assert.equal(head.status, 200);
  assert.equal(head.body, null);
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
  assert.match(numbers!, /^<span>2 things<\/span><span>1 holder<\/span><span>2 waiters<\/span>/);
  assert.match(things!, /semaphore "slow".*<td class="">1<\/td><td class="">2<\/td>/);
  const selected = /aria-pressed="true">([^<]*)</.exec(things!)![1]!;
  assert.ok(reader.parts["detail"]!.includes(`<h2>${selected}</h2>`));
});

test("dashboard: names and keys are text, not HTML", async () => {
  using show = dashboard();
  new Thing("key", '<img src="x" onerror=alert(1)>', '"><script>').grant({});
  await using reader = await new Reader(show).update();
  const all = Object.values(reader.parts).join("");
  assert.doesNotMatch(all, /<img|<script/);
  assert.match(all, /&lt;img/);
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
  const start = performance.now();
  while (!reader.parts["alerts"]) await reader.update();
  assert.ok(performance.now() - start < 2000);
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
  assert.match(things!, /and 985 things that waited less/);
  assert.match(detail!, /Sampled: not every wait and hold below 0\.1 s is drawn; the numbers count all\./);
  assert.match(detail!, /aria-label="Holding: \d{4,}/);
  assert.ok(detail!.length < 50_000);
});

test("dashboard: disposing of it ends the streams and stops observing", async () => {
  const show = dashboard();
  assert.notEqual(hook, undefined);
  const { body } = show(new Request(`${ADDRESS}?events`));
  const reader = body!.getReader();
  await reader.read();
  show[Symbol.dispose]();
  assert.equal((await reader.read()).done, true);
  assert.equal(hook, undefined);
});
