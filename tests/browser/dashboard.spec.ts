/** The dashboard of real servers: a deadlock is on the page within two seconds, by mouse, by keyboard and under load. */
import { expect, type Page } from "@playwright/test";
import { program } from "../shutdown/runtimes.ts";
import { expectToFit, test } from "./_page.ts";

const SERVER = "tests/dashboard/server.ts";
const DENO = ["deno", "run", "-A", "--no-check", SERVER] as const;

const isLive = (page: Page) => expect(page.locator("#state")).toContainText("live");
const isFilled = (page: Page) => page.locator("#things button").nth(2).waitFor();

for (const server of ["deno", "bun"]) {
  test(`a deadlock shows within two seconds: ${server}`, async ({ page, serve }) => {
    const { url } = await (server === "bun" ? serve(await program("bun"), SERVER, "bun") : serve(...DENO, server));
    await page.goto(url);
    await isLive(page);
    expect((await fetch(url, { method: "POST" })).status).toBe(200);
    const alert = page.locator("#alerts");
    await alert.getByRole("heading", { name: "Deadlock" }).waitFor({ timeout: 2_000 });
    for (const text of [`lock "accounts" for key "alice"`, `lock "accounts" for key "bob"`, /server\.ts:\d+/]) {
      await expect(alert).toContainText(text);
    }
    await expect(page).toHaveTitle("Deadlock · Interlock");
    await expect(page.getByRole("alert")).toHaveText("Deadlock");
    await expectToFit(page);
  });
}

test("it can be used by keyboard", async ({ page, serve }) => {
  await page.goto((await serve(...DENO, "deno")).url);
  await isFilled(page);
  await page.keyboard.press("Tab");
  await expect(page.locator("#pause")).toBeFocused();
  await page.keyboard.press("Enter"); // so that rows stay where they are
  await expect(page.locator("#state")).toHaveText("paused");
  await page.keyboard.press("Tab");
  await page.keyboard.press("ArrowDown");
  const thing = await page.evaluate<string>("document.activeElement.dataset.thing");
  expect(thing).toBe(await page.locator("#things button").nth(1).getAttribute("data-thing"));
  await page.keyboard.press("Enter");
  await page.locator("#pause").click();
  await page.locator("#detail h2", { hasText: thing }).waitFor();
  await page.getByRole("button", { name: thing, pressed: true }).waitFor();
  expect(await page.evaluate("decodeURIComponent(location.hash.slice(1))")).toBe(thing);
});

test("a link that was cut shows the first thing", async ({ page, serve }) => {
  const { url } = await serve(...DENO, "deno");
  for (const hash of ["#%", "#%E0", "#no such thing"]) {
    await page.goto("about:blank");
    await page.goto(url + hash);
    await isLive(page);
    await isFilled(page);
    const marked = await page.locator("#things tr.selected button").textContent();
    await expect(page.locator("#detail h2")).toHaveText(marked!);
  }
});

test("it stays responsive under load, and shows that it samples", async ({ page, serve }) => {
  const { url } = await serve(...DENO, "deno", "busy");
  await page.goto(`${url}#${encodeURIComponent('lock "counter"')}`);
  await page.getByText("Sampled:").waitFor();
  await page.locator("#things button").nth(1).dispatchEvent("click"); // rows move while it would aim
  await page.getByText(/and \d+ primitives that waited less/).waitFor();
  await page.evaluate("new Promise((drawn) => requestAnimationFrame(drawn))");
  await expectToFit(page);
});
