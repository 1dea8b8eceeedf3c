/**
 * A real Chromium: CHROME, or the usual places, or Debian's, which is installed where that is possible. For Node: the
 * pipes that playwright talks to a browser through do not work in Deno.
 */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import process from "node:process";
import { type Browser, chromium } from "playwright-core";

const PLACES = [
  "/usr/bin/chromium",
  "/usr/bin/google-chrome",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
  "C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe",
];

function find(): string | undefined {
  return process.env["CHROME"] || PLACES.find((path) => existsSync(path));
}

function install(): boolean {
  if (process.platform !== "linux" || process.getuid?.() !== 0) return false;
  console.log("No Chromium found, installing one: apt-get install -y chromium");
  return spawnSync("apt-get", ["install", "-y", "chromium"], { stdio: ["ignore", "ignore", "inherit"] }).status === 0;
}

/** Starts it with a temporary profile and without background connections. */
export function launch(): Promise<Browser> {
  const executablePath = find() ?? (install() ? find() : undefined);
  if (executablePath === undefined) {
    throw new Error("Cannot start a browser: none was found. Type: sudo apt-get install -y chromium, or set CHROME");
  }
  const off = ["background-networking", "component-update", "sync", "gpu", "quic"].map((what) => `--disable-${what}`);
  return chromium.launch({ executablePath, headless: true, args: ["--no-sandbox", "--no-first-run", ...off] });
}
