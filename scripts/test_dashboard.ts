/**
 * `deno task test:dashboard`: the dashboard of real servers in a real browser: a deadlock is on the page within two
 * seconds, by mouse and keyboard, light and dark, on a phone's width and under load. With a folder as argument,
 * screenshots go there.
 */
import assert from "node:assert/strict";
import process from "node:process";
import type { Page } from "playwright-core";
import { fits, runPages, startServer, views } from "./_pages.ts";

const [, , pictures] = process.argv;
const SERVER = "tests/dashboard/server.ts";
const COMMANDS: Record<string, string[]> = {
  deno: ["deno", "run", "-A", "--no-check", SERVER, "deno"],
  hono: ["deno", "run", "-A", "--no-check", SERVER, "hono"],
  bun: ["bun", SERVER, "bun"],
  busy: ["deno", "run", "-A", "--no-check", SERVER, "deno", "busy"],
};

const light = views.desktop;
const dark = { ...light, colorScheme: "dark", reducedMotion: "reduce" } as const;
const phone = { ...views.phone, colorScheme: "light" } as const;

const isLive = (page: Page) => page.locator("#state", { hasText: "live" }).waitFor();
const isFilled = (page: Page) => page.locator("#things button").nth(2).waitFor();

async function showsDeadlock(page: Page, url: string): Promise<void> {
  await isLive(page);
  assert.equal((await fetch(url, { method: "POST" })).status, 200);
  const start = performance.now();
  const alert = page.locator("#alerts");
  await alert.getByRole("heading", { name: "Deadlock" }).waitFor({ timeout: 2_000 });
  console.log(`       on the page after ${Math.round(performance.now() - start)} ms`);
  const text = await alert.innerText();
  for (const name of ["alice", "bob"]) assert.ok(text.includes(`lock "accounts" for key "${name}"`), text);
  assert.match(text, /server\.ts:\d+/);
  assert.equal(await page.title(), "Deadlock · Interlock");
  assert.equal(await page.getByRole("alert").innerText(), "Deadlock");
}

async function worksByKeyboard(page: Page): Promise<void> {
  await isFilled(page);
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate("document.activeElement.id"), "pause");
  await page.keyboard.press("Enter"); // so that rows stay where they are
  assert.equal(await page.locator("#state").innerText(), "paused");
  await page.keyboard.press("Tab");
  await page.keyboard.press("ArrowDown");
  const thing = await page.evaluate<string>("document.activeElement.dataset.thing");
  assert.ok(thing);
  await page.keyboard.press("Enter");
  await page.locator("#pause").click();
  await page.locator("#detail h2", { hasText: thing }).waitFor();
  await page.getByRole("button", { name: thing, pressed: true }).waitFor();
  assert.equal(await page.evaluate("decodeURIComponent(location.hash.slice(1))"), thing);
}

/** A link that was cut, as in `#%E0`, shows the first thing. */
async function outlivesBrokenLinks(page: Page, url: string): Promise<void> {
  for (const hash of ["#%", "#%E0", "#no such thing"]) {
    await page.goto("about:blank");
    await page.goto(url + hash);
    await isLive(page);
    await isFilled(page);
    await page.locator("#things tr.selected").waitFor();
    const [marked, inDetail] = await Promise.all(
      ["#things tr.selected button", "#detail h2"].map((one) => page.locator(one).textContent()),
    );
    assert.equal(marked, inDetail);
  }
}

/** Updates go on, each drawn quickly, and the page says that it is sampled. */
async function staysResponsive(page: Page): Promise<void> {
  await page.waitForTimeout(3_000);
  await page.locator("#things button").nth(1).dispatchEvent("click"); // rows move while it would aim
  await page.getByText("Sampled:").waitFor();
  await page.getByText(/and \d+ primitives that waited less/).waitFor();
  const delay = await page.evaluate<number>(`new Promise((resolve) => {
    const from = performance.now();
    let longest = 0, last = from;
    const frame = (now) => {
      longest = Math.max(longest, now - last);
      last = now;
      if (now - from < 3000) requestAnimationFrame(frame);
      else resolve(longest);
    };
    requestAnimationFrame(frame);
  })`);
  console.log(`       the longest frame took ${Math.round(delay)} ms`);
  assert.ok(delay < 1000, `${delay} ms`);
}

const checks: [name: string, server: string, view: object, check: (page: Page, url: string) => Promise<void>][] = [
  ["light", "deno", light, showsDeadlock],
  ["hono", "hono", light, showsDeadlock],
  ["bun", "bun", light, showsDeadlock],
  ["keyboard", "deno", light, worksByKeyboard],
  ["broken links", "deno", light, outlivesBrokenLinks],
  ["dark", "deno", dark, showsDeadlock],
  ["phone", "deno", phone, showsDeadlock],
  ["busy", "busy", light, staysResponsive],
];

await runPages(checks.map(([name, server, view, check]) => ({
  name,
  view,
  serve: () => startServer(COMMANDS[server]![0]!, COMMANDS[server]!.slice(1)),
  check: async (page, { url }) => {
    await check(page, url);
    await page.waitForTimeout(pictures ? 3_000 : 0);
    await fits(page);
  },
  picture: pictures && `${pictures}/${name}.png`,
})));
