/** What the tests of pages share. */
import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { expect, type Page, test as base } from "@playwright/test";

interface Server {
  readonly url: string;
  readonly child: ChildProcess;
}

interface Fixtures {
  /** Starts a program that prints its address in its first line; it ends with the test. */
  readonly serve: (command: string, ...args: string[]) => Promise<Server>;
  /** Whether the page may log errors. */
  readonly logsErrors: boolean;
}

/** A page that logs an error fails its test. */
export const test = base.extend<Fixtures>({
  logsErrors: [false, { option: true }],
  page: async ({ page, logsErrors }, use) => {
    const errors: string[] = [];
    page.on("pageerror", (error) => errors.push(String(error)));
    page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
    await use(page);
    if (!logsErrors) expect(errors).toEqual([]);
  },
  serve: async ({ browserName: _ }, use) => {
    const children: ChildProcess[] = [];
    await use(async (command, ...args) => {
      const child = spawn(command, args, { stdio: ["ignore", "pipe", "inherit"] });
      children.push(child);
      for await (const line of createInterface(child.stdout)) {
        const [url] = /http:\S+/.exec(line) ?? [];
        if (url !== undefined) return { url, child };
      }
      throw new Error(`Cannot start ${command}: it printed no address`);
    });
    for (const child of children) child.kill("SIGKILL");
  },
});

/** Asserts that the page needs no scrolling to the side. */
export async function expectToFit(page: Page): Promise<void> {
  const [content, window] = await page.evaluate<[number, number]>("[document.documentElement.scrollWidth, innerWidth]");
  expect(content, page.url()).toBeLessThanOrEqual(window);
}
