/**
 * `deno task test:docs`: the built site in a real browser. Every link leads to a page and its heading, no page logs an
 * error, and nothing is wider than a phone. With a folder as argument, screenshots of some pages go there.
 */
import assert from "node:assert/strict";
import { readFileSync, statSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { extname, resolve } from "node:path";
import process from "node:process";
import type { Browser, Page } from "playwright-core";
import { launch } from "./_chromium.ts";

const ROOT = resolve("site");
const TYPES: Record<string, string> = {
  ".html": "text/html",
  ".js": "text/javascript",
  ".css": "text/css",
  ".svg": "image/svg+xml",
  ".json": "application/json",
};
const SHOWN = ["/index.html", "/getting-started.html", "/primitives.html", "/redis.html", "/reference/~/Lock.html"];
const [, , pictures] = process.argv;

/** The reference has thousands of pages of one kind: a few stand for all of them. */
const isSampled = (path: string): boolean =>
  !path.startsWith("/reference/") ||
  /^\/reference\/([a-z]+\/)?(index|all_symbols|~\/(Lock|Pool|RedisLock|RedisRwLock\.prototype\.[a-z]+|watchdog))\.html$/
    .test(path);

const server = createServer((request, response) => {
  const path = decodeURIComponent(new URL(request.url!, "http://localhost").pathname);
  const file = `${ROOT}${path.endsWith("/") ? `${path}index.html` : path}`;
  try {
    if (!statSync(file).isFile()) throw new Error("a folder");
    response.setHeader("Content-Type", TYPES[extname(file)] ?? "application/octet-stream").end(readFileSync(file));
  } catch {
    response.writeHead(404).end();
  }
});

/** Visits every page that can be reached, and returns what is wrong with them. */
async function crawl(browser: Browser, base: string): Promise<string[]> {
  const faults: string[] = [];
  const page = await browser.newPage({ viewport: { width: 360, height: 740 } });
  let at = "";
  page.on("console", (message) => message.type() === "error" && faults.push(`${at}: ${message.text()}`));
  page.on("pageerror", (error) => faults.push(`${at}: ${error}`));
  page.on("response", (response) => response.status() >= 400 && faults.push(`${at}: ${response.url()} is missing`));
  const anchors = new Map<string, Set<string>>();
  const wanted: (readonly [from: string, to: string, anchor: string])[] = [];
  for (const queue = ["/index.html"], seen = new Set(queue); queue.length > 0;) {
    at = queue.shift()!;
    await page.goto(base + at, { waitUntil: "load" });
    faults.push(...await tooWide(page, at));
    if (!await page.$("a[href$='/getting-started.html']")) faults.push(`${at} has no way to the guide`);
    anchors.set(
      at,
      new Set(await page.evaluate<string[]>("[...document.querySelectorAll('[id]')].map((one) => one.id)")),
    );
    const links = await page.evaluate<string[]>("[...document.querySelectorAll('a[href]')].map((one) => one.href)");
    for (const link of links) {
      const { origin, pathname, hash } = new URL(link);
      if (origin !== base) continue;
      const path = pathname.endsWith("/") ? `${pathname}index.html` : pathname;
      wanted.push([at, path, decodeURIComponent(hash.slice(1))]);
      if (isSampled(path) && !seen.has(path)) queue.push(path);
      seen.add(path);
    }
  }
  for (const [from, path, anchor] of wanted) {
    const known = anchors.get(path);
    if (anchor !== "" && known !== undefined && !known.has(anchor)) faults.push(`${from}: ${path} has no #${anchor}`);
  }
  console.log(`${anchors.size} pages, ${wanted.length} links`);
  assert.ok(anchors.size > 12, "the guide was found");
  await page.close();
  return [...new Set(faults)];
}

async function tooWide(page: Page, at: string): Promise<string[]> {
  const [content, window] = await page.evaluate<[number, number]>("[document.documentElement.scrollWidth, innerWidth]");
  return content <= window ? [] : [`${at} is ${content} pixels wide on a phone of ${window}`];
}

async function photograph(browser: Browser, base: string, folder: string): Promise<void> {
  for (const colorScheme of ["light", "dark"] as const) {
    for (const width of [360, 1280]) {
      const page = await browser.newPage({ viewport: { width, height: 900 }, colorScheme });
      for (const path of SHOWN) {
        await page.goto(base + path, { waitUntil: "load" });
        await page.screenshot({ path: `${folder}/${path.slice(1, -5)}-${width}-${colorScheme}.png` });
      }
      await page.close();
    }
  }
}

await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
const browser = await launch();
try {
  assert.deepEqual(await crawl(browser, base), []);
  const guide = readFileSync(`${ROOT}/llms.txt`, "utf8");
  for (const title of ["# Interlock", "# Primitives", "# Redis", "# Reliability"]) {
    assert.ok(guide.includes(title), title);
  }
  if (pictures !== undefined) await photograph(browser, base, pictures);
} finally {
  await browser.close();
  server.close();
  server.closeAllConnections();
}
