/**
 * `deno task test:page`: the page of `deno task serve` in a real browser. With a file as argument, a screenshot of the
 * drain goes there.
 */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import process from "node:process";
import type { Page } from "playwright-core";
import { launch } from "./_chromium.ts";

const [, , picture] = process.argv;
const SERVER = ["run", "--quiet", "--allow-net", "--allow-read", "--allow-env", "examples/graceful_server.ts"];

interface Started {
  child: ChildProcess;
  url: string;
}

/** Starts the server on a free port. */
async function start(): Promise<Started> {
  const child = spawn("deno", [...SERVER, "--port", "0"], { stdio: ["ignore", "pipe", "inherit"] });
  const [text] = await once(child.stdout, "data");
  return { child, url: /http:\S+/.exec(String(text))![0] };
}

const text = (page: Page, id: string) => page.locator(`#${id}`).textContent();

const checks: Record<string, (page: Page, server: Started) => Promise<void>> = {
  "fifty visitors are in flight, all are answered, and then every button is disabled": async (page, { child }) => {
    await page.getByRole("button", { name: "50 visitors" }).click();
    await page.waitForFunction("Number(document.getElementById('count').textContent) >= 30");
    await page.getByRole("button", { name: "shut down" }).click();
    await page.waitForFunction("document.getElementById('state').textContent.startsWith('draining 1')");
    if (picture && page.viewportSize()!.width > 400) await page.screenshot({ path: picture });
    await page.waitForFunction("document.getElementById('state').textContent === 'drained'");
    assert.match((await text(page, "visits"))!, /^Visitors: 0 waiting, 50 answered, 0 refused, 0 lost$/);
    assert.equal(await text(page, "count"), "0");
    assert.equal(await page.locator("button:enabled").count(), 0);
    if (child.exitCode === null) await once(child, "exit");
    assert.equal(child.exitCode, 0);
  },
  "a killed server is noticed, and every button is disabled": async (page, { child }) => {
    child.kill("SIGKILL");
    await page.waitForFunction("document.getElementById('state').textContent === 'connection lost'");
    assert.equal(await page.locator("button:enabled").count(), 0);
  },
  "nothing is wider than the page": async (page) => {
    await page.getByRole("button", { name: "50 visitors" }).click();
    await page.waitForFunction("document.querySelectorAll('.row').length > 1");
    const [content, window] = await page.evaluate<[number, number]>("[document.body.scrollWidth, innerWidth]");
    assert.ok(content <= window, `${content} of ${window} pixels`);
  },
};

const views = {
  desktop: { viewport: { width: 720, height: 640 }, colorScheme: "light" },
  phone: { viewport: { width: 360, height: 780 }, colorScheme: "dark", hasTouch: true },
} as const;

let failed = 0, passed = 0;
const browser = await launch();
for (const [view, options] of Object.entries(views)) {
  for (const [what, check] of Object.entries(checks)) {
    const server = await start();
    const page = await browser.newPage(options);
    const errors: Error[] = [];
    page.on("pageerror", (error) => errors.push(error));
    page.setDefaultTimeout(30_000);
    try {
      await page.goto(server.url);
      await check(page, server);
      assert.deepEqual(errors, []);
      console.log(`ok     ${view}: ${what}`, ++passed);
    } catch (error) {
      console.log(`FAILED ${view}: ${what}\n`, error, ++failed);
    }
    await page.close();
    server.child.kill("SIGKILL");
  }
}
await browser.close();
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
