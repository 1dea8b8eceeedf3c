/**
 * A plugin of TypeDoc: the page of a class begins with a table of its members. No page has headings or columns that say
 * nothing (a result of `void`, the interface that a member implements, a constructor inherited from Error, a modifier
 * that nearly all properties have). The first page lists the names of each entry.
 */
import { type Application, type DeclarationReflection, PageEvent, ReflectionKind } from "typedoc";

export function load({ renderer }: Application): void {
  const listOf = (entry: DeclarationReflection, kind: ReflectionKind, title: string, isOfErrors = false) => {
    const all = entry.getChildrenByKind(kind).filter(({ name }) => name.endsWith("Error") === isOfErrors);
    const links = all.map((one) => `[\`${one.name}\`](${renderer.router!.getFullUrl(one)})`);
    return links.length === 0 ? "" : `- ${title}: ${links.join(", ")}\n`;
  };
  const listsOf = (entry: DeclarationReflection) =>
    listOf(entry, ReflectionKind.Class, "Classes") + listOf(entry, ReflectionKind.Function, "Functions") +
    listOf(entry, ReflectionKind.Class, "Errors", true);
  renderer.on(PageEvent.END, (page: PageEvent) => {
    if (page.contents === undefined) return;
    page.contents = page.model === page.project
      ? indexOf(page.contents, page.project.getChildrenByKind(ReflectionKind.Module).map(listsOf))
      : withMembers(withoutNoise(page.contents));
  });
}

/** The entries as sections, each with its purpose and its names, in place of a table. */
function indexOf(page: string, lists: readonly string[]): string {
  const rows = [...page.matchAll(/^\| \[(\w+)\]\((.*)\) \| (.*) \|$/gm)];
  const sections = rows.map(([, name, file, purpose], i) =>
    `## [${entryOf(name!)}](${file})\n\n${purpose}\n\n${lists[i]}`
  );
  const intro = "The classes and functions of each entry. The page of an entry also lists its types. " +
    "[All names by subject](../reference.md) sorts the names by what they are for.";
  return `# Reference by entry\n\n${intro}\n\n${sections.join("\n")}`;
}

const entryOf = (name: string) => `@interlock/interlock${name === "interlock" ? "" : `/${name}`}`;

function withoutNoise(page: string): string {
  return page
    .replace(/^(# \w+)\\<.*$/m, "$1") // the code below has the type parameters
    .replace(/^# (interlock|redis|web|diagnostics|dashboard)$/m, (_, name) => `# ${entryOf(name)}`)
    .replace(/^# (\w*Error)\n[^]*/, (error) => error.replace(/^## Constructors\n[^]*?(?=^## |$(?![^]))/m, ""))
    .replace("## Constructors\n\n### Constructor\n", "## Constructor\n")
    .replace(/^#### Get Signature\n\n/gm, "")
    .replace(/^#### Set Signature\n\n(```[^]*?```)\n[^]*?##### Returns\n\n`void`\n/gm, "$1\n")
    .replace(/(```ts\nget .*\n)(```\n(?:(?!^### )[^])*?\n)```ts\n(set .*\n)```\n/gm, "$1$3$2")
    .replace(/^## Accessors\n[^]*?(?=^## )/m, (accessors) => accessors.replace(/^##### /gm, "#### "))
    .replace(/^#+ Returns\n\n(?!.*\]\().+\n+(?=#|\*\*\*|$(?![^]))/gm, "") // a type that the code states, too
    .replace(/^function acquireAll.*/m, (code) => code.replace("[L]", "[...L]")) // the theme loses the dots of a tuple
    .replace("readonly \\[`L`\\]", "readonly \\[...`L`\\]")
    .replace(/^#+ (Implementation of|Overrides|Inherited from)\n\n.*\n\n?/gm, "")
    .replace(/^#+ Type Parameters\n\n\| Type Parameter \|( Default type \|)?\n.*\n(\|.*\n)+\n?/gm, "")
    .replace(/^## References\n[^]*/m, (section) => {
      const links = [...section.matchAll(/^Re-exports (.*)$/gm)].map(([, link]) => link);
      return `This entry also exports ${links.join(", ")}.\n`;
    })
    .replace(/^\|.*\|\n\| -.*\n(\|.*\n?)+/gm, withoutColumns);
}

/** The code of a page states modifiers, and its section "Extends" states the base. A default joins the description. */
function withoutColumns(table: string): string {
  const [head = [], , ...rows] = table.trimEnd().split("\n").map((row) => row.slice(2, -2).split(" | "));
  const isEmpty = (i: number) => rows.every((row) => ["-", ""].includes(row[i]!));
  const value = head.indexOf("Default value");
  const text = head.indexOf("Description");
  for (const row of value < 0 ? [] : rows) {
    const given = row[value]!.replaceAll("`", "");
    if (given !== "undefined" && !row[text]!.includes("Default:")) row[text] += ` Default: ${given}.`;
  }
  const noise = ["Modifier", "Default value", "Overrides", "Inherited from"];
  const kept = head.flatMap((title, i) => noise.includes(title) || isEmpty(i) ? [] : [i]);
  const line = (row: readonly string[]) => `| ${kept.map((i) => row[i]).join(" | ")} |`;
  return [line(head), line(head.map(() => "------")), ...rows.map(line), ""].join("\n");
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
    if (anchor !== "constructor") rows.push(`| [\`${name.replaceAll("\\", "")}\`](#${id}) | ${purpose(body)} |`);
    return isStatic ? section.replace(heading, `${name} {#${id}}`) : section;
  });
  if (!/^## (Methods|Accessors)$/m.test(page) || rows.length < 2) return page;
  const table = ["| Member | Purpose |", "| ------ | ------ |", ...rows].join("\n");
  const heading = /^## Properties$/m.test(page) ? "Methods at a glance" : "Members"; // another table has the properties
  return whole.replace(/^## (?!Example)/m, `## ${heading}\n\n${table}\n\n$&`);
}

/** The first sentence about a member. */
function purpose(body: string): string {
  const [text = ""] = body.replace(/^#### .*$/gm, "").replace(/```[^]*?```/g, "").trim().split("\n\n");
  return /^(?:`[^`]*`|[^`])*?[.:](?=\s|$)/.exec(text)?.[0].replaceAll("\n", " ").replace(/:$/, ".") ?? text;
}
