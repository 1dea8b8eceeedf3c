/** On a phone, the guide's timelines are those that `scripts/timelines.ts --phone` draws for its width. */
import type { Markdown } from "./reference.ts";

export function fitTimelines(md: Markdown): void {
  md.core.ruler.push("timelines", ({ tokens, Token }) => {
    const html = (content: string) => Object.assign(new Token("html_inline", "", 0), { content });
    for (const token of tokens) {
      token.children = token.children?.flatMap((child) => {
        const [, file] = child.type === "image" ? /^timelines\/(.*)/.exec(child.attrGet("src")!) ?? [] : [];
        if (file === undefined) return [child];
        const source = `<source media="(max-width: 640px)" srcset="./timelines/phone/${file}">`;
        return [html(`<picture>${source}`), child, html("</picture>")];
      }) ?? null;
    }
  });
}
