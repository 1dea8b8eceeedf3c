/**
 * `deno task test:page`: the page of `deno task serve` in a real browser. With a file as argument, a screenshot of the
 * drain goes there.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import process from "node:process";
import type { Page } from "playwright-core";
import { fits, runPages, type Served, startServer, views } from "./_pages.ts";

const [, , picture] = process.argv;
const SERVER = ["run", "--quiet", "--no-prompt", "--allow-net=127.0.0.1", "examples/graceful_server.ts"];

const text = (page: Page, id: string) => page.locator(`#${id}`).textContent();

const checks: Record<string, (page: Page, server: Required<Served>) => Promise<void>> = {
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
    await fits(page);
  },
};

await runPages(
  Object.entries(views).flatMap(([view, options]) =>
    Object.entries(checks).map(([what, check]) => ({
      name: `${view}: ${what}`,
      view: options,
      serve: () => startServer("deno", [...SERVER, "--port", "0"]),
      check,
      logsErrors: true, // the browser does, when a server ends
    }))
  ),
);
