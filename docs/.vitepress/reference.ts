/** Ways from the guide to the reference: the first mention of a public name on a page leads to the page of that name. */
import { readFileSync } from "node:fs";
import { entries } from "../../scripts/_entries.ts";

/** What is used of a token of markdown-it. */
interface Token {
  type: string;
  content: string;
  children: Token[] | null;
}

interface State {
  readonly tokens: Token[];
  readonly env: { readonly relativePath?: string };
  readonly Token: new (type: string, tag: string, nesting: 0) => Token;
}

interface Markdown {
  readonly core: { readonly ruler: { push(name: string, rule: (state: State) => void): void } };
}

const folderOf = (entry: string) => entry === "." ? "" : `${entry.slice(2)}/`;

/** The page of each public name; a name that several entries export is that of the first one. */
export const pages: ReadonlyMap<string, string> = new Map(
  entries.toReversed().flatMap(([entry, file]) =>
    namesOf(file).map((name) => [name, `/reference/${folderOf(entry)}~/${name}.html`] as const)
  ),
);

function namesOf(file: string): string[] {
  const source = readFileSync(new URL(`../../${file}`, import.meta.url), "utf8");
  const lists = source.matchAll(/^export (?:type )?\{([^}]*)\}/gm);
  return [...lists].flatMap(([, list]) => [...list!.matchAll(/(\w+)\s*(?:,|$)/g)].map(([, name]) => name!));
}

/** A heading that is a name gets a link behind it; code that is a name becomes a link, on the index of names each time. */
export function linkNames(md: Markdown): void {
  md.core.ruler.push("reference", ({ tokens, env, Token }) => {
    const seen = new Set<string>();
    const html = (content: string) => Object.assign(new Token("html_inline", "", 0), { content });
    const open = (page: string, kind = "") => html(`<a href="${page}" target="_self"${kind}>`);
    tokens.forEach((token, i) => {
      if (token.type !== "inline" || token.children === null) return;
      if (tokens[i - 1]?.type === "heading_open") {
        const page = pages.get(token.content);
        if (page === undefined) return;
        seen.add(token.content);
        token.children.splice(1, 0, open(page, ` class="ignore-header reference"`), html("reference</a>"));
        return;
      }
      let links = 0;
      token.children = token.children.flatMap((child) => {
        links += { link_open: 1, link_close: -1 }[child.type] ?? 0;
        const name = child.type === "code_inline" ? /^(?:new )?(\w+)(?=$|[(<])/.exec(child.content)?.[1] : undefined;
        const page = pages.get(name ?? "");
        if (name === undefined || page === undefined || links > 0) return [child];
        if (seen.has(name) && env.relativePath !== "reference.md") return [child];
        seen.add(name);
        return [open(page), child, html("</a>")];
      });
    });
  });
}
