/** The site of the guide: `deno task docs` builds it together with the reference and the playground. */
import { defineConfig } from "vitepress";

const guide = [
  ["Getting started", "getting-started"],
  ["Primitives", "primitives"],
  ["Cancellation", "cancellation"],
  ["Pool and rate limits", "pool-and-rate-limits"],
  ["Shutdown", "shutdown"],
  ["Redis", "redis"],
  ["Diagnostics", "diagnostics"],
  ["It hangs", "it-hangs"],
] as const;

const background = [
  ["Migrating", "migrating"],
  ["Testing", "testing"],
  ["How it works", "how-it-works"],
  ["Benchmarks", "benchmarks"],
  ["Reliability", "reliability"],
] as const;

const links = (pages: readonly (readonly [string, string])[]) =>
  pages.map(([text, page]) => ({ text, link: `/${page}` }));

export default defineConfig({
  title: "Interlock",
  description: "Concurrency primitives for TypeScript in asyncio's terms: in one process, or across machines through Redis",
  lang: "en",
  base: "/",
  outDir: "../site",
  cleanUrls: false,
  // They link into the reference and the playground, which scripts/docs.ts adds, or are not written yet.
  ignoreDeadLinks: [/^\/(reference|playground)\//],
  srcExclude: ["playground/**"],
  head: [["link", { rel: "icon", href: "/logo.svg", type: "image/svg+xml" }]],
  themeConfig: {
    logo: "/logo.svg",
    search: { provider: "local" },
    nav: [
      { text: "Guide", link: "/getting-started" },
      { text: "Reference", link: "/reference/index.html", target: "_self" },
      { text: "Playground", link: "/playground/index.html", target: "_self" },
      { text: "Dashboard", link: "/playground/dashboard.html", target: "_self" },
    ],
    sidebar: [
      { text: "Guide", items: links(guide) },
      { text: "Background", items: links(background) },
    ],
    outline: { level: [2, 3] },
  },
});
