/**
 * A plugin of TypeDoc: the page of a class begins with a table of its members, and has none of the headings that say
 * nothing (a result of `void`, the interface that a member implements, a constructor inherited from Error).
 */
import { type Application, PageEvent } from "typedoc";

export function load({ renderer }: Application): void {
  renderer.on(PageEvent.END, (page: PageEvent) => {
    if (page.contents !== undefined) page.contents = withMembers(withoutNoise(page.contents));
  });
}

function withoutNoise(page: string): string {
  return page
    .replace(/^(# \w+)\\<.*$/m, "$1") // the code below has the type parameters
    .replace(/^# (redis|web|diagnostics|dashboard)$/m, "# @interlock/interlock/$1")
    .replace(/^# interlock$/m, "# @interlock/interlock")
    .replace(/^## Modules$/m, "[All names by subject](../reference.md)\n\n$&")
    .replace(/^# (\w*Error)\n[^]*/, (error) => error.replace(/^## Constructors\n[^]*?(?=^## |$(?![^]))/m, ""))
    .replace("## Constructors\n\n### Constructor\n", "## Constructor\n")
    .replace(/^#### Get Signature\n\n/gm, "")
    .replace(/^#### Set Signature\n\n(```[^]*?```)\n[^]*?##### Returns\n\n`void`\n/gm, "$1\n")
    .replace(/^#+ Returns\n\n`void`\n\n?/gm, "")
    .replace(/^#+ (Implementation of|Overrides|Inherited from)\n\n.*\n\n?/gm, "")
    .replace(/^#+ Type Parameters\n\n\| Type Parameter \|\n.*\n(\|.*\n)+\n?/gm, "");
}

function withMembers(page: string): string {
  const [, title] = /^# (\w+)/.exec(page) ?? [];
  const seen = new Map<string, number>();
  const rows: string[] = [];
  const whole = page.replace(/^### (\S+)\n([^]*?)(?=^###? |$(?![^]))/gm, (section, heading: string, body: string) => {
    const anchor = heading.replace(/\W/g, "").toLowerCase();
    const count = seen.get(anchor) ?? 0;
    seen.set(anchor, count + 1);
    const id = count === 0 ? anchor : `${anchor}-${count}`; // as the site numbers headings
    const isStatic = /^\s*(#### .*\s*)?```ts\nstatic /.test(body);
    const name = isStatic ? `${title}.${heading}` : heading;
    rows.push(`| [\`${name.replaceAll("\\", "")}\`](#${id}) | ${purpose(body)} |`);
    return isStatic ? section.replace(heading, `${name} {#${id}}`) : section;
  });
  if (!/^## (Methods|Accessors)$/m.test(page) || rows.length < 2) return page;
  const table = ["| Member | Purpose |", "| ------ | ------ |", ...rows].join("\n");
  return whole.replace(/^## (?!Example)/m, `## Members\n\n${table}\n\n$&`);
}

/** The first sentence about a member. */
function purpose(body: string): string {
  const [text = ""] = body.replace(/^#### .*$/gm, "").replace(/```[^]*?```/g, "").trim().split("\n\n");
  return /^[^]*?[.:](?=\s|$)/.exec(text)?.[0].replaceAll("\n", " ").replace(/:$/, ".") ?? text;
}
