/**
 * `deno task test:browser`: the tests of tests/browser in a real Chromium: CHROME, or the usual places. They need the
 * built site and the built package, which the task makes first.
 */
import { existsSync } from "node:fs";
import process from "node:process";
import { defineConfig } from "@playwright/test";

const PLACES = [
  "/usr/bin/chromium",
  "/usr/bin/google-chrome",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
  "C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe",
];
const executablePath = process.env["CHROME"] ?? PLACES.find((path) => existsSync(path));
if (executablePath === undefined) throw new Error("No Chromium was found: apt-get install chromium, or set CHROME");

const PORT = 4173;

export default defineConfig({
  testDir: "tests/browser",
  testMatch: "*.spec.ts",
  outputDir: "site/.browser",
  timeout: 60_000,
  reporter: process.env["CI"] ? "dot" : "list",
  use: {
    baseURL: `http://127.0.0.1:${PORT}`,
    screenshot: "only-on-failure",
    launchOptions: {
      executablePath,
      args: ["--no-sandbox", "--disable-background-networking", "--disable-sync", "--disable-gpu"],
    },
  },
  webServer: { command: `vitepress preview docs --port ${PORT}`, url: `http://127.0.0.1:${PORT}/index.html` },
  projects: [
    { name: "desktop", use: { viewport: { width: 1100, height: 900 }, colorScheme: "light" } },
    {
      name: "phone",
      testIgnore: "{primitives,tabs}.spec.ts",
      use: { viewport: { width: 360, height: 780 }, colorScheme: "dark", hasTouch: true },
    },
  ],
});
