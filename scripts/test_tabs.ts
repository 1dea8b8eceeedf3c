/**
 * The second part of `deno task test:browser`: two tabs of one origin import the built package and take turns with a
 * WebLock. 127.0.0.1 is a secure context, which pages need for `navigator.locks`; about:blank has none.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import type { Page } from "playwright-core";
import { runPages, views } from "./_pages.ts";

const HTML = `<!DOCTYPE html><link rel="icon" href="data:,"><title>tab</title><script type="module">
  import { WebLock, WebRwLock } from "/lib/web/mod.js";
  Object.assign(globalThis, { lock: new WebLock("orders"), rw: new WebRwLock("orders") });
</script>`;

/** The steps of a tab are bounded: a promise that never settles in a page would else hang this process. */
async function evaluate<T>(tab: Page, code: string): Promise<T> {
  const late = new AbortController();
  const timeout = delay(20_000, undefined, late).then(() => Promise.reject(new Error(`${code}: no answer in 20 s`)));
  try {
    return await Promise.race([tab.evaluate<T>(code), timeout]);
  } finally {
    late.abort();
    timeout.catch(() => {});
  }
}

async function openSecond(first: Page): Promise<Page> {
  const second = await first.context().newPage();
  await second.goto(first.url());
  for (const tab of [first, second]) await tab.waitForFunction("'lock' in globalThis");
  return second;
}

const acquire = (tab: Page) =>
  evaluate<boolean>(tab, "lock.acquire({ timeout: 10000 }).then((got) => (globalThis.guard = got).held)");

/** Resolves when the browser has queued the request. */
async function acquireBehind(tab: Page): Promise<{ granted: Promise<boolean> }> {
  const granted = acquire(tab);
  await tab.waitForFunction("navigator.locks.query().then(({ pending }) => pending.length > 0)");
  return { granted };
}

const checks: Record<string, (first: Page, second: Page) => Promise<void>> = {
  "a release grants the lock to the other tab": async (first, second) => {
    assert.equal(await acquire(first), true);
    assert.equal(await evaluate(second, "lock.tryAcquire()"), undefined);
    const late = await evaluate(second, "lock.acquire({ timeout: 20 }).catch(({ name }) => name)");
    assert.equal(late, "TimeoutError");
    const { granted } = await acquireBehind(second);
    await evaluate(first, "guard.release()");
    assert.equal(await granted, true);
    assert.equal(await evaluate(first, "lock.tryAcquire()"), undefined);
  },
  "a tab that is closed releases": async (first, second) => {
    assert.equal(await acquire(second), true);
    const { granted } = await acquireBehind(first);
    await second.close();
    assert.equal(await granted, true);
  },
  "a tab that goes to another page releases": async (first, second) => {
    assert.equal(await acquire(second), true);
    const { granted } = await acquireBehind(first);
    await second.goto("about:blank");
    assert.equal(await granted, true);
  },
  "a stolen lock is not held, and its signal aborts": async (first, second) => {
    assert.equal(await acquire(first), true);
    const lost = evaluate(
      first,
      `new Promise((resolve) => {
        const { signal } = guard;
        signal.onabort = () => resolve([guard.held, signal.reason.name, signal.reason.message]);
      })`,
    );
    await evaluate(first, "0"); // the listener is there
    await evaluate(second, "navigator.locks.request('orders', { steal: true }, () => {})");
    assert.deepEqual(await lost, [false, "LeaseLostError", 'Cannot keep lock "orders": it was stolen']);
    assert.equal(await acquire(second), true);
  },
  "readers of both tabs hold at a time, and keep a writer out": async (first, second) => {
    for (const tab of [first, second]) {
      assert.equal(await evaluate(tab, "rw.reader.acquire({ timeout: 10000 }).then(({ held }) => held)"), true);
    }
    assert.equal(await evaluate(first, "lock.tryAcquire()"), undefined);
    await second.close();
    assert.equal(await evaluate(first, "rw.writer.tryAcquire()"), undefined);
  },
};

const server = createServer(({ url }, response) => {
  const page = url === "/";
  response.setHeader("content-type", page ? "text/html" : "text/javascript");
  response.end(page ? HTML : readFileSync(`npm${url}`));
}).listen(0, "127.0.0.1");
await once(server, "listening");
const { port } = server.address() as AddressInfo;

await runPages(
  Object.entries(checks).map(([what, check]) => ({
    name: `two tabs: ${what}`,
    view: views.desktop,
    serve: () => ({ url: `http://127.0.0.1:${port}/` }),
    check: async (first) => await check(first, await openSecond(first)),
  })),
);
server.close();
