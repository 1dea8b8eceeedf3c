/** Checks of pages in a real browser: each has a server, a window and a list of errors of its own. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import process from "node:process";
import { createInterface } from "node:readline";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { launch } from "./_chromium.ts";

/** The sizes and colours that pages are tried in. */
export const views = {
  desktop: { viewport: { width: 1100, height: 900 }, colorScheme: "light" },
  phone: { viewport: { width: 360, height: 780 }, colorScheme: "dark", hasTouch: true },
} as const;

/** The address of a page, and the server behind it if it is not a file. */
export interface Served {
  readonly url: string;
  readonly child?: ChildProcess;
}

/** One check. */
export interface PageCheck<S extends Served> {
  readonly name: string;
  readonly view: BrowserContextOptions;
  serve(): S | Promise<S>;
  check(page: Page, served: S): Promise<void>;
  /** Whether the page may log errors. Default: false. */
  readonly logsErrors?: boolean;
  /** A file for a screenshot of the end. Default: none. */
  readonly picture?: string | undefined;
}

/** Starts a server that prints its address in its first line. */
export async function startServer(command: string, args: readonly string[]): Promise<Required<Served>> {
  const child = spawn(command, args, { stdio: ["ignore", "pipe", "inherit"] });
  for await (const line of createInterface(child.stdout)) {
    const [url] = /http:\S+/.exec(line) ?? [];
    if (url !== undefined) return { url, child };
  }
  throw new Error(`Cannot start ${[command, ...args].join(" ")}: it printed no address`);
}

/** Asserts that the page needs no scrolling to the side. */
export async function fits(page: Page, name = "the page"): Promise<void> {
  const [content, window] = await page.evaluate<[number, number]>("[document.documentElement.scrollWidth, innerWidth]");
  assert.ok(content <= window, `${name}: ${content} of ${window} pixels`);
}

/** Goes through all checks, and sets the exit code. */
export async function runPages<S extends Served>(checks: readonly PageCheck<S>[]): Promise<void> {
  let failed = 0;
  const browser = await launch();
  for (const one of checks) {
    try {
      await runPage(browser, one);
      console.log(`ok     ${one.name}`);
    } catch (error) {
      console.log(`FAILED ${one.name}\n`, error, ++failed);
    }
  }
  await browser.close();
  console.log(`${checks.length - failed} passed, ${failed} failed`);
  process.exitCode = failed === 0 ? 0 : 1;
}

async function runPage<S extends Served>(browser: Browser, one: PageCheck<S>): Promise<void> {
  const served = await one.serve();
  const context = await browser.newContext(one.view);
  try {
    const page = await context.newPage();
    const errors: unknown[] = [];
    page.on("pageerror", (error) => errors.push(error));
    page.on("console", (message) => message.type() === "error" && !one.logsErrors && errors.push(message.text()));
    page.setDefaultTimeout(30_000);
    await page.goto(served.url);
    await one.check(page, served);
    if (one.picture !== undefined) await page.screenshot({ path: one.picture, fullPage: true });
    assert.deepEqual(errors, []);
  } finally {
    await context.close();
    served.child?.kill("SIGKILL");
  }
}
