/**
 * `deno task test:playground`: the page in a real browser, from a file and by keyboard, on a phone's width and in the
 * dark. With a folder as argument, screenshots of it go there.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import process from "node:process";
import { pathToFileURL } from "node:url";
import type { Page } from "playwright-core";
import { scenes } from "../docs/playground/scenes.ts";
import { fits, runPages, views } from "./_pages.ts";

const ADDRESS = pathToFileURL(resolve("docs/playground/index.html")).href;
const [, , pictures] = process.argv;

const done = (page: Page) => page.waitForFunction("document.getElementById('chart').ariaBusy === 'false'");

const setFast = (page: Page) =>
  page.evaluate("document.getElementById('work').value = 200; document.getElementById('work').onchange()");

const checks: Record<string, (page: Page) => Promise<void>> = {
  "every primitive plays to its end": async (page) => {
    for (const name of Object.keys(scenes)) {
      await page.getByLabel(name, { exact: true }).check({ force: true });
      await setFast(page);
      await page.waitForTimeout(50); // so that the picture is of a run under way
      await done(page);
      assert.ok(await page.locator("#chart rect").count() > 3, name);
      assert.equal(await page.evaluate("location.hash"), `#${name}`);
    }
  },
  "nothing is wider than the page": async (page) => {
    for (const name of Object.keys(scenes)) {
      await page.getByLabel(name, { exact: true }).check({ force: true });
      await fits(page, name);
    }
  },
  "a button cancels a wait": async (page) => {
    await page.getByLabel("Lock", { exact: true }).check({ force: true });
    await page.getByRole("button", { name: "✕ task 4" }).click();
    await page.waitForFunction("document.getElementById('status').textContent.includes('cancelled: task 4')");
    assert.ok((await page.locator("#chart").textContent())!.includes("✕ AbortError"));
  },
  "it can be used by keyboard": async (page) => {
    await page.keyboard.press("Tab");
    await page.keyboard.press("ArrowRight");
    assert.equal(await page.evaluate("location.hash"), "#TimeoutLock");
    await page.keyboard.press("Tab");
    assert.equal(await page.evaluate("document.activeElement.id"), "play");
    await page.keyboard.press("Enter");
    await page.keyboard.press("Tab");
    assert.equal(await page.evaluate("document.activeElement.id"), "save");
    await page.getByRole("button", { name: /✕/ }).first().focus();
    await page.keyboard.press("Enter");
    await page.waitForFunction("document.getElementById('status').textContent.includes('cancelled')");
    const focused = "document.activeElement.parentElement.id === 'waiters' || document.activeElement.id === 'play'";
    assert.ok(await page.evaluate(focused), "the focus stays in the row");
  },
  "every control that is shown has an effect": async (page) => {
    await page.getByLabel("lockOnArguments", { exact: true }).check({ force: true });
    assert.equal(await page.locator("#cancelling").isVisible(), false);
    assert.equal(await page.locator("#impatient-row").isVisible(), false);
    assert.equal(await page.locator("#unbuilt").count(), 0);
  },
  "two tabs take turns with a WebLock, and one that goes on to another scene keeps nothing": async (page) => {
    const other = await page.context().newPage();
    await other.goto(`${ADDRESS}#WebLock`);
    await page.getByLabel("WebLock", { exact: true }).check({ force: true });
    await page.waitForFunction(
      `navigator.locks.query().then(({ held, pending }) =>
        held.length === 1 && new Set([...held, ...pending].map(({ clientId }) => clientId)).size === 2)`,
    );
    await other.getByLabel("Event", { exact: true }).check({ force: true });
    await setFast(page);
    await done(page);
    assert.match((await page.locator("#status").textContent())!, /WebLock/);
    assert.ok((await page.locator("#chart").textContent())!.includes("✓"));
    await page.waitForFunction("navigator.locks.query().then(({ held }) => held.length === 0)");
  },
  "the timeline can be saved": async (page) => {
    await page.getByLabel("Semaphore", { exact: true }).check({ force: true });
    await page.waitForTimeout(500);
    const [download] = await Promise.all([page.waitForEvent("download"), page.getByText("Save as SVG").click()]);
    assert.equal(download.suggestedFilename(), "Semaphore.svg");
    const svg = readFileSync(await download.path(), "utf8");
    assert.match(svg, /^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg".*<rect class="shares".*<\/svg>$/s);
  },
};

await runPages(
  Object.entries(views).flatMap(([view, options]) =>
    Object.entries(checks).map(([what, check]) => ({
      name: `${view}: ${what}`,
      view: options,
      serve: () => ({ url: ADDRESS }),
      check,
      picture: pictures && `${pictures}/${view}-${what.replaceAll(" ", "_")}.png`,
    }))
  ),
);
