/** The site of the guide: `deno task docs` builds it together with the reference and the playground. */
import { readFileSync } from "node:fs";
import { defineConfig } from "vitepress";
import { background, guide } from "./pages.ts";
import { linkNames } from "./reference.ts";

const readme = readFileSync(new URL("../../README.md", import.meta.url), "utf8");

/** The right half of the home page: the README's first example and its install commands. */
const firstScreen = {
  code: /```ts\n([^]*?)```/.exec(readme)![1]!.trimEnd(),
  installs: [...readme.matchAll(/^\| (Deno|Node|Bun) +\| `([^`]+)`/gm)].map(([, name, command]) => [name, command]),
  sizes: process.env.INTERLOCK_SIZES ?? "",
};

const links = (pages: readonly (readonly [string, string])[]) =>
  pages.map(([text, page]) => ({ text, link: `/${page}` }));

export default defineConfig({
  title: "Interlock",
  description: "Locks, limits, queues and Redis locks for Deno, Node and Bun, with asyncio's semantics",
  lang: "en",
  base: "/",
  outDir: "../site",
  cleanUrls: false,
  // They link into the reference and the playground, which scripts/docs.ts adds, or are not written yet.
  ignoreDeadLinks: [/^\/(reference|playground)\//],
  srcExclude: ["playground/**"],
  markdown: { config: linkNames },
  head: [["link", { rel: "icon", href: "/logo.svg", type: "image/svg+xml" }]],
  themeConfig: {
    firstScreen,
    logo: "/logo.svg",
    search: { provider: "local" },
    nav: [
      { text: "Guide", link: "/getting-started" },
      { text: "Reference", link: "/reference" },
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
