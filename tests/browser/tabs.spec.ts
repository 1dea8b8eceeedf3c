/** Two tabs of one origin import the file that the built package has for `import` and take turns with a WebLock. */
import { expect, type Page } from "@playwright/test";
import { test } from "./_page.ts";

const HTML = `<!DOCTYPE html><link rel="icon" href="data:,"><title>tab</title><script type="module">
  import { WebLock, WebRwLock } from "/npm/dist/interlock-web.js";
  Object.assign(globalThis, { lock: new WebLock("orders"), rw: new WebRwLock("orders") });
</script>`;

let first: Page;
let second: Page;

test.beforeEach(async ({ context, page }) => {
  await context.route("/tab", (route) => route.fulfill({ body: HTML, contentType: "text/html" }));
  await context.route("/npm/**", (route) => {
    const { pathname } = new URL(route.request().url());
    return route.fulfill({ path: pathname.slice(1), contentType: "text/javascript" });
  });
  [first, second] = [page, await context.newPage()];
  for (const tab of [first, second]) {
    await tab.goto("/tab");
    await tab.waitForFunction("'lock' in globalThis");
  }
});

const acquire = (tab: Page) =>
  tab.evaluate<boolean>("lock.acquire({ timeout: 10000 }).then((got) => (globalThis.guard = got).held)");

/** Resolves when the browser has queued the request. */
async function acquireBehind(tab: Page): Promise<{ granted: Promise<boolean> }> {
  const granted = acquire(tab);
  await tab.waitForFunction("navigator.locks.query().then(({ pending }) => pending.length > 0)");
  return { granted };
}

test("a release grants the lock to the other tab", async () => {
  expect(await acquire(first)).toBe(true);
  expect(await second.evaluate("lock.tryAcquire()")).toBeUndefined();
  const late = await second.evaluate("lock.acquire({ timeout: 20 }).catch(({ name }) => name)");
  expect(late).toBe("TimeoutError");
  const { granted } = await acquireBehind(second);
  await first.evaluate("guard.release()");
  expect(await granted).toBe(true);
  expect(await first.evaluate("lock.tryAcquire()")).toBeUndefined();
});

test("a tab that is closed releases", async () => {
  expect(await acquire(second)).toBe(true);
  const { granted } = await acquireBehind(first);
  await second.close();
  expect(await granted).toBe(true);
});

test("a tab that goes to another page releases", async () => {
  expect(await acquire(second)).toBe(true);
  const { granted } = await acquireBehind(first);
  await second.goto("about:blank");
  expect(await granted).toBe(true);
});

test("a stolen lock is not held, and its signal aborts", async () => {
  expect(await acquire(first)).toBe(true);
  const lost = first.evaluate(
    `new Promise((resolve) => {
      const { signal } = guard;
      signal.onabort = () => resolve([guard.held, signal.reason.name, signal.reason.message]);
    })`,
  );
  await first.evaluate("0"); // the listener is there
  await second.evaluate("navigator.locks.request('orders', { steal: true }, () => {})");
  expect(await lost).toEqual([false, "LeaseLostError", 'Cannot keep lock "orders": it was stolen']);
  expect(await acquire(second)).toBe(true);
});

test("readers of both tabs hold at a time, and keep a writer out", async () => {
  for (const tab of [first, second]) {
    expect(await tab.evaluate("rw.reader.acquire({ timeout: 10000 }).then(({ held }) => held)")).toBe(true);
  }
  expect(await first.evaluate("lock.tryAcquire()")).toBeUndefined();
  await second.close();
  expect(await first.evaluate("rw.writer.tryAcquire()")).toBeUndefined();
});
