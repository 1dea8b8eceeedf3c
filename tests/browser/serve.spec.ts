/** The page of `examples/graceful_server.ts`. */
import { once } from "node:events";
import { expect } from "@playwright/test";
import { expectToFit, test } from "./_page.ts";

const SERVER = [
  "deno",
  "run",
  "--quiet",
  "--no-prompt",
  "--allow-net=127.0.0.1",
  "examples/graceful_server.ts",
] as const;

test.use({ logsErrors: true }); // the browser does, when a server ends

test("fifty visitors are in flight, all are answered, and then every button is disabled", async ({ page, serve }) => {
  const { url, child } = await serve(...SERVER, "--port", "0");
  await page.goto(url);
  await page.getByRole("button", { name: "50 visitors" }).click();
  await page.waitForFunction("Number(document.getElementById('count').textContent) >= 30");
  await expectToFit(page);
  await page.getByRole("button", { name: "shut down" }).click();
  await expect(page.locator("#state")).toHaveText("drained", { timeout: 30_000 });
  await expect(page.locator("#visits")).toHaveText("Visitors: 0 waiting, 50 answered, 0 refused, 0 lost");
  await expect(page.locator("#count")).toHaveText("0");
  expect(await page.locator("button:enabled").count()).toBe(0);
  if (child.exitCode === null) await once(child, "exit");
  expect(child.exitCode).toBe(0);
});

test("a killed server is noticed, and every button is disabled", async ({ page, serve }) => {
  const { url, child } = await serve(...SERVER, "--port", "0");
  await page.goto(url);
  child.kill("SIGKILL");
  await expect(page.locator("#state")).toHaveText("connection lost");
  expect(await page.locator("button:enabled").count()).toBe(0);
});
