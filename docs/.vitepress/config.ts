/** The site of the guide: `deno task docs` builds it together with the reference and the playground. */
import { readFileSync } from "node:fs";
import { createMarkdownRenderer, type DefaultTheme, defineConfig } from "vitepress";
import { fitTimelines } from "./timelines.ts";
import { background, groups, migrating } from "./pages.ts";
import { type Item, linkNames } from "./reference.ts";

const readme = readFileSync(new URL("../../README.md", import.meta.url), "utf8");

/** The right half of the home page: the README's first example and its install commands, as its Markdown has them. */
const firstScreen = ["ts", "sh"].map((language) => new RegExp(`\`\`\`${language}\\n[^]*?\`\`\``).exec(readme)![0]).join("\n\n");

const links = (pages: readonly (readonly [string, string])[]): DefaultTheme.SidebarItem[] =>
  pages.map(([text, page]) => ({
    text,
    link: `/${page}`,
    ...page === "migrating" && { collapsed: true, items: links(migrating) },
  }));

/** Written by TypeDoc. */
const names: Item[] = JSON.parse(readFileSync(new URL("../reference/typedoc-sidebar.json", import.meta.url), "utf8"));

/** The errors of an entry as a group of their own, behind its other classes. */
const withErrors = ({ items = [], ...entry }: Item): Item => ({
  ...entry,
  items: items.flatMap((group) => {
    if (group.text !== "Classes") return [group];
    const isError = ({ text }: Item) => text.endsWith("Error");
    const errors = group.items!.filter(isError);
    const classes = { ...group, items: group.items!.filter((one) => !isError(one)) };
    return [classes, { ...group, text: "Errors", items: errors }].filter(({ items }) => items.length > 0);
  }),
});

/** Pages that explain come first, then those that list: the search of the page calls these, so they stand alone. */
const boostDocument = (id: string) => /^\/(reference|migrating|benchmarks|examples|redis)\b/.test(id) ? 0.4 : 1;
const fuzzy = (term: string) => term.length > 4 ? 0.15 : false; // 0.2 finds redlock for deadlock

const { version } = JSON.parse(readFileSync(new URL("../../deno.json", import.meta.url), "utf8"));

export default defineConfig({
  title: "Interlock",
  description: "Locks, limits, queues and Redis locks for Deno, Node and Bun, with asyncio's semantics",
  lang: "en",
  base: "/",
  outDir: "../site",
  cleanUrls: false,
  ignoreDeadLinks: [/^\/(playground|examples)\//], // which scripts/docs.ts adds
  srcExclude: ["playground/**"],
  markdown: {
    config(md) {
      linkNames(md, names);
      fitTimelines(md);
    },
  },
  head: [["link", { rel: "icon", href: "/logo.svg", type: "image/svg+xml" }]],
  async transformPageData({ relativePath, frontmatter }) {
    if (relativePath !== "index.md") return;
    frontmatter.firstScreen = (await createMarkdownRenderer("docs")).render(firstScreen);
    const [load] = /Loading [^(]*(?= \()/.exec(readme.replaceAll("`", "").replaceAll(/\s+/g, " "))!;
    frontmatter.sizes = `${process.env.INTERLOCK_SIZES ?? ""} ${load}.`;
  },
  themeConfig: {
    logo: "/logo.svg",
    search: { provider: "local", options: { miniSearch: { searchOptions: { boostDocument, fuzzy } } } },
    nav: [
      { text: "Guide", link: "/getting-started" },
      { text: "Reference", link: "/reference", activeMatch: "^/reference" },
      { text: "Playground", link: "/playground/index.html", target: "_self" },
      { text: "Dashboard", link: "/playground/dashboard.html", target: "_self" },
    ],
    sidebar: {
      "/": [
        ...Object.entries(groups).map(([text, pages]) => ({ text, items: links(pages) })),
        { text: "Background", items: links(background) },
      ],
      "/reference/": [
        { text: "Guide", link: "/getting-started" },
        { text: "All names by subject", link: "/reference" },
        ...names.map(withErrors),
      ],
    },
    outline: { level: [2, 3] },
    footer: { message: "MIT licence", copyright: `Version ${version}` },
  },
});
