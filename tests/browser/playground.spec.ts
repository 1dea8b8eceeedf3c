/** The playground, by mouse and by keyboard. */
import { readFileSync } from "node:fs";
import { expect, type Page } from "@playwright/test";
import { scenes } from "../../docs/playground/scenes.ts";
import { expectToFit, test } from "./_page.ts";

const ADDRESS = "/playground/index.html";

const choose = (page: Page, name: string) => page.getByLabel(name, { exact: true }).check({ force: true });
const names = (page: Page) =>
  page.evaluate<string[]>("[...document.querySelectorAll('input[type=radio]')].map((one) => one.value)");
const isDone = (page: Page) =>
  expect(page.locator("#chart")).toHaveAttribute("aria-busy", "false", { timeout: 30_000 });
const setFast = (page: Page) =>
  page.evaluate("document.getElementById('work').value = 200; document.getElementById('work').onchange()");

test.beforeEach(({ page }) => page.goto(ADDRESS));

test("every primitive plays to its end, within the window", async ({ page }) => {
  test.setTimeout(240_000);
  const all = await names(page);
  const sections: string[] = [];
  expect(all).toEqual(expect.arrayContaining(Object.keys(scenes)));
  for (const name of all) {
    await choose(page, name);
    await setFast(page);
    await expectToFit(page);
    await page.waitForTimeout(50); // so that the picture is of a run under way
    await isDone(page);
    expect(await page.locator("#chart rect").count(), name).toBeGreaterThan(3);
    expect(await page.evaluate("location.hash")).toBe(`#${name}`);
    sections.push((await page.locator("#guide a").getAttribute("href"))!);
  }
  for (const section of sections) {
    await page.goto(section);
    const [, anchor] = section.split("#");
    if (anchor !== undefined) await expect(page.locator(`#${anchor}`), section).toBeVisible();
  }
});

test("a button cancels a wait", async ({ page }) => {
  await choose(page, "Lock");
  await page.getByRole("button", { name: "✕ task 4" }).click();
  await expect(page.locator("#status")).toContainText("Ended early: task 4");
  await expect(page.locator("#chart")).toContainText("✕ AbortError");
});

test("it can be used by keyboard", async ({ page }) => {
  await page.getByLabel("Lock", { exact: true }).focus();
  await page.keyboard.press("ArrowRight");
  expect(await page.evaluate("location.hash")).toBe("#TimeoutLock");
  await page.keyboard.press("Tab");
  await expect(page.locator("#guide a")).toBeFocused();
  await page.keyboard.press("Tab");
  await expect(page.locator("#play")).toBeFocused();
  await page.keyboard.press("Enter");
  await page.keyboard.press("Tab");
  await expect(page.locator("#save")).toBeFocused();
  await page.getByRole("button", { name: /✕/ }).first().focus();
  await page.keyboard.press("Enter");
  await expect(page.locator("#status")).toContainText("Ended early");
  const focused = "document.activeElement.parentElement.id === 'waiters' || document.activeElement.id === 'play'";
  expect(await page.evaluate(focused), "the focus stays in the row").toBe(true);
});

test("the code has the numbers of the settings", async ({ page }) => {
  await choose(page, "RateLimiter");
  await page.evaluate("document.getElementById('limit').value = 2; document.getElementById('limit').oninput()");
  await expect(page.locator("#code")).toContainText("new RateLimiter(2, 2400)");
});

test("every control that is shown has an effect", async ({ page }) => {
  await choose(page, "lockOnArguments");
  await expect(page.locator("#cancelling")).toBeHidden();
  await expect(page.locator("#impatient-row")).toBeHidden();
});

test("two tabs take turns with a WebLock, and one that goes on to another scene keeps nothing", async ({ page }) => {
  const other = await page.context().newPage();
  await other.goto(`${ADDRESS}#WebLock`);
  await choose(page, "WebLock");
  await page.waitForFunction(
    `navigator.locks.query().then(({ held, pending }) =>
      held.length === 1 && new Set([...held, ...pending].map(({ clientId }) => clientId)).size === 2)`,
  );
  await choose(other, "Event");
  await setFast(page);
  await isDone(page);
  await expect(page.locator("#status")).toContainText("WebLock");
  await expect(page.locator("#chart")).toContainText("✓");
  await page.waitForFunction("navigator.locks.query().then(({ held }) => held.length === 0)");
});

test("the timeline can be saved", async ({ page }) => {
  await choose(page, "Semaphore");
  await expect(page.locator("#chart rect").nth(3)).toBeAttached();
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByText("Save as SVG").click()]);
  expect(download.suggestedFilename()).toBe("Semaphore.svg");
  const svg = readFileSync(await download.path(), "utf8");
  expect(svg).toMatch(/^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg".*<rect class="shares".*<\/svg>$/s);
});
