/** The built site: every link leads to a page and its heading, nothing is wider than the window, and search finds. */
import { readFileSync } from "node:fs";
import { expect } from "@playwright/test";
import { expectToFit, test } from "./_page.ts";

/** The reference has many pages of one kind: a few stand for all of them. */
const isSampled = (path: string) =>
  !path.startsWith("/reference/") ||
  /^\/reference\/(index|redis|\w+\/[\w-]+\/(Lock|Pool|RedisLock|watchdog))\.html$/.test(path);

test("every link leads to a page and its heading", async ({ page, baseURL }) => {
  test.setTimeout(240_000);
  const missing: string[] = [];
  page.on("response", (response) => response.status() >= 400 && missing.push(`${page.url()}: ${response.url()}`));
  const anchors = new Map<string, Set<string>>();
  const wanted: (readonly [from: string, to: string, anchor: string])[] = [];
  for (const queue = ["/index.html"], seen = new Set(queue); queue.length > 0;) {
    const at = queue.shift()!;
    if (at.endsWith(".txt")) { // the text of an example, which has no links
      if (!(await page.request.get(at)).ok()) missing.push(at);
      continue;
    }
    await page.goto(at);
    await expectToFit(page);
    expect(await page.$("a[href$='/getting-started.html']"), `${at} has a way to the guide`).not.toBeNull();
    const ids = await page.evaluate<string[]>("[...document.querySelectorAll('[id]')].map((one) => one.id)");
    anchors.set(at, new Set(ids));
    for (const link of await page.evaluate<string[]>("[...document.querySelectorAll('a[href]')].map((a) => a.href)")) {
      const { origin, pathname, hash } = new URL(link);
      if (origin !== baseURL) continue;
      const path = pathname.endsWith("/") ? `${pathname}index.html` : pathname;
      wanted.push([at, path, decodeURIComponent(hash.slice(1))]);
      if (isSampled(path) && !seen.has(path)) queue.push(path);
      seen.add(path);
    }
  }
  for (const [from, path, anchor] of wanted) {
    const known = anchors.get(path);
    const id = path === "/playground/index.html" ? `choice-${anchor}` : anchor; // the name of a scene
    if (anchor !== "" && known?.has(id) === false) missing.push(`${from}: ${path} has no #${anchor}`);
  }
  expect([...new Set(missing)]).toEqual([]);
  expect(anchors.size).toBeGreaterThan(12);
});

/** What a reader types, and the page or section that comes first. */
const SEARCHES = {
  "deadlock": /questions\.html#.*deadlock|it-hangs/,
  "rate limit": /pool-and-rate-limits/,
  "429": /pool-and-rate-limits/,
  "timeout": /how-do-i-set-a-timeout|cancellation/,
  "lock per user": /one-queue-per-user/,
  "graceful shutdown": /^\/shutdown\.html/,
  "downgrade": /^\/reference\/interlock\/interfaces\/WriterGuard\.html|primitives/,
};

for (const [text, place] of Object.entries(SEARCHES)) {
  test(`search finds the right page first: ${text}`, async ({ page }) => {
    await page.goto("/index.html");
    await page.locator(".VPNavBarSearch button").click();
    await page.locator("#localsearch-input").fill(text);
    await expect(page.locator(".VPLocalSearchBox .result").first()).toHaveAttribute("href", place, { timeout: 30_000 });
  });
}

test("the reference and the guide link to each other", async ({ page }) => {
  await page.goto("/reference/interlock/classes/KeyedMutex.html");
  await page.locator("h1 a.reference").click();
  await expect(page).toHaveURL(/primitives\.html#keyedmutex$/);
  await page.locator("h2#keyedmutex a.reference").click();
  await expect(page).toHaveURL(/reference\/interlock\/classes\/KeyedMutex\.html/);
});

test("a section leads to its scene in the playground, and back", async ({ page }) => {
  await page.goto("/primitives.html");
  await page.locator("h2#rwlock a.play").click();
  await expect(page.getByLabel("RwLock", { exact: true })).toBeChecked();
  await page.locator("#guide a").click();
  await expect(page).toHaveURL(/primitives\.html#rwlock$/);
});

test("the dashboard in the page shows the deadlock that its button makes", async ({ page }) => {
  await page.goto("/playground/dashboard.html");
  await page.locator("#deadlock").click();
  await page.locator("#alerts").getByRole("heading", { name: "Deadlock" }).waitFor({ timeout: 4_000 });
  await expect(page.locator("#alerts")).toContainText('lock "account 1"');
  await expectToFit(page);
});

for (const path of ["index", "dashboard"]) {
  test(`the site's switch between light and dark also rules the playground: ${path}`, async ({ page }) => {
    await page.goto("/index.html");
    await page.evaluate("localStorage.setItem('vitepress-theme-appearance', 'dark')");
    await page.goto(`/playground/${path}.html`);
    const colour = (of: string, property: string) =>
      page.evaluate<string>(`getComputedStyle(document.querySelector(${JSON.stringify(of)})).${property}`);
    await page.locator("svg.tl text:not(.soft)").first().waitFor();
    const read = async () => [await colour("html", "backgroundColor"), await colour("svg.tl text:not(.soft)", "fill")];
    await expect.poll(read).toEqual(["rgb(27, 27, 31)", "rgb(223, 223, 214)"]);
    await page.locator("#appearance").click();
    await expect.poll(read).toEqual(["rgb(255, 255, 255)", "rgb(60, 60, 67)"]);
  });
}

test("the home page shows how to install it", async ({ page }) => {
  await page.goto("/index.html");
  await expect(page.locator(".first-screen")).toContainText("npx jsr add @interlock/interlock");
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.locator(".first-screen button.copy").first().click({ force: true });
  const copied = () => page.evaluate<string>("navigator.clipboard.readText()");
  await expect.poll(copied).toMatch(/^import \{ KeyedMutex \}/);
});

test("llms.txt has the whole guide", () => {
  const guide = readFileSync("site/llms.txt", "utf8");
  for (const title of ["# Interlock", "# Primitives", "# Redis", "# Reliability"]) expect(guide).toContain(title);
});
