/**
 * Links between the guide and the reference, which TypeDoc writes into docs/reference: the first mention of a public
 * name on a page of the guide leads to the page of that name, and that page to the section about the name.
 */
import { readFileSync } from "node:fs";
import { scenes } from "../playground/scenes.ts";
import { entries } from "../../scripts/_entries.ts";

/** What is used of a token of markdown-it. */
interface Token {
  type: string;
  content: string;
  children: Token[] | null;
  attrGet(name: string): string | null;
  attrSet(name: string, value: string): void;
}

interface State {
  readonly tokens: Token[];
  readonly env: { readonly relativePath?: string };
  readonly Token: new (type: string, tag: string, nesting: 0) => Token;
}

export interface Markdown {
  readonly core: { readonly ruler: { push(name: string, rule: (state: State) => void): void } };
}

/** What typedoc-vitepress-theme writes: a tree of pages. */
export interface Item {
  readonly text: string;
  readonly link?: string;
  readonly items?: readonly Item[];
}

/** All public names. */
export const names: ReadonlySet<string> = new Set(entries.flatMap(([, file]) => namesOf(file)));

/** The page of each public name. */
function pagesOf(items: readonly Item[]): Map<string, string> {
  return new Map(items.flatMap(({ text, link, items = [] }) => [
    ...link !== undefined && names.has(text) ? [[text, link.replace(/\.md$/, ".html")] as const] : [],
    ...pagesOf(items),
  ]));
}

function read(file: string): string {
  return readFileSync(new URL(`../../${file}`, import.meta.url), "utf8");
}

function namesOf(file: string): string[] {
  const lists = read(file).matchAll(/^export (?:type )?\{([^}]*)\}/gm);
  return [...lists].flatMap(([, list]) => [...list!.matchAll(/(\w+)\s*(?:,|$)/g)].map(([, name]) => name!));
}

/** The items of the index of names: each has a link to the guide, and names. */
const items = read("docs/reference.md").split("\n## All names\n")[1]!.split(/^(?:- |#+ )/m);

/**
 * The section about a page such as `reference/redis/classes/RedisLock.md`: that of its item in the index of names, or
 * else the page of its entry. The page that lists the entries has none.
 */
function placeInGuide(path: string): string | undefined {
  const [, entry, name = ""] = /^reference\/(\w+)\/(?:[\w-]+\/)?(\w+)\.md$/.exec(path) ?? [];
  if (entry === undefined) return undefined;
  if (name.endsWith("Error")) return "/reference.html#errors";
  const item = items.find((text) => [...text.matchAll(/`(\w+)`/g)].some(([, code]) => code === name));
  const [, page, anchor = ""] = /\]\(([\w-]+)\.md(#[\w-]+)?\)/.exec(item ?? "") ?? [];
  return page === undefined
    ? `/${{ interlock: "primitives", dashboard: "diagnostics" }[entry] ?? entry}.html`
    : `/${page}.html${anchor}`;
}

/**
 * A heading that is a name gets links behind it, also to its scene in the playground, and code that is a name becomes a
 * link. On the index of names it does so each time, and links of names to the guide become links to their pages, too.
 */
export function linkNames(md: Markdown, sidebar: readonly Item[]): void {
  const pages = pagesOf(sidebar);
  md.core.ruler.push("reference", ({ tokens, env: { relativePath = "" }, Token }) => {
    const seen = new Set<string>();
    const html = (content: string) => Object.assign(new Token("html_inline", "", 0), { content });
    const open = (page: string) => html(`<a href="${page}">`);
    const behind = (page: string, text: string) =>
      html(`<a href="${page}" class="ignore-header reference">${text}</a>`);
    // The playground is not a page of VitePress, which follows only links with a target.
    const play = (name: string) =>
      html(`<a href="/playground/index.html#${name}" target="_self" class="ignore-header play">play</a>`);
    if (relativePath.startsWith("reference/")) {
      const place = placeInGuide(relativePath);
      const [title] = tokens.filter(({ type }) => type === "inline");
      if (place !== undefined) title?.children?.push(behind(place, "guide"));
      return;
    }
    tokens.forEach((token, i) => {
      if (token.type !== "inline" || token.children === null) return;
      if (tokens[i - 1]?.type === "heading_open") {
        const page = pages.get(token.content);
        if (page === undefined) return;
        seen.add(token.content);
        token.children.push(behind(page, "reference"));
        if (token.content in scenes) token.children.push(play(token.content));
        return;
      }
      const isIndex = relativePath === "reference.md";
      let link: Token | undefined;
      let isFolder = false; // of examples: the site has their files alone, as texts
      token.children = token.children.flatMap((child) => {
        if (child.type === "link_open") {
          link = child;
          const [, example] = /^(?:\.\.\/)+examples\/(.*)$/.exec(child.attrGet("href")!) ?? [];
          isFolder = example?.endsWith("/") === true;
          if (example !== undefined) child.attrSet("href", `/examples/${example}.txt`);
        }
        if (child.type === "link_close") link = undefined;
        if (isFolder && child.type.startsWith("link_")) return [];
        const name = child.type === "code_inline" ? /^(?:new )?(\w+)(?=$|[(<])/.exec(child.content)?.[1] : undefined;
        const page = pages.get(name ?? "");
        if (name === undefined || page === undefined) return [child];
        if (isIndex) link?.attrSet("href", page);
        if (link !== undefined || (seen.has(name) && !isIndex)) return [child];
        seen.add(name);
        return [open(page), child, html("</a>")];
      });
    });
  });
}
