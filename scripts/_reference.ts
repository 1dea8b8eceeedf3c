/** The pages of `deno doc`, made ready for readers of the guide: one page a name, members included, and a way back. */
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname } from "node:path";
import { background, guide } from "../docs/.vitepress/pages.ts";

const MEMBER = /^([\w$]+)\.(?:prototype\.)?(.+)\.html$/;

/** The pages of members, as `Lock.prototype.acquire.html`, give way to their places on the page of the name. */
export function joinMembers(folder: string): void {
  const all = readdirSync(folder, { recursive: true, encoding: "utf8" });
  const places = new Map<string, string>();
  for (const path of all.filter((path) => /~\/[^/]+\.html$/.test(path))) {
    const [, name, member] = MEMBER.exec(basename(path)) ?? [];
    if (name === undefined) continue;
    const ids = idsOf(`${folder}/${dirname(path)}/${name}.html`);
    const id = ids.find((id) => new RegExp(`^[a-z]+_${member!.toLowerCase().replaceAll(/\W/g, "")}(_0)?$`).test(id));
    places.set(basename(path), `${name}.html${id === undefined ? "" : `#${id}`}`);
    rmSync(`${folder}/${path}`);
  }
  for (const path of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
    if (!/\.html$|search_index\.js$/.test(path)) continue;
    const text = readFileSync(`${folder}/${path}`, "utf8");
    const joined = text
      .replace(/(~(?:\/|&#x2F;))([\w$]+\.[^"#]+\.html)(?:#\w+)?/g, (all, before, page) => {
        const place = places.get(page);
        return place === undefined ? all : `${before}${place}`;
      })
      // deno doc 2.9.6 links inferred types, which have no place of their own.
      .replace(
        /<a href="#(type_param_\w+)"[^>]*>(\w+)<\/a>/g,
        (all, id, name) => text.includes(`id="${id}"`) ? all : name,
      )
      .replace(/<a\s+class="sourceButton"\s+href="file:[^]*?<\/a>/g, ""); // a path of the machine that builds
    writeFileSync(`${folder}/${path}`, joined);
  }
}

const known = new Map<string, readonly string[]>();
function idsOf(file: string): readonly string[] {
  const ids = known.get(file) ?? [...readFileSync(file, "utf8").matchAll(/ id="(\w+)"/g)].map(([, id]) => id!);
  known.set(file, ids);
  return ids;
}

/** A link to the section of the guide that is about a name, or to the page of its entry; as in `redis/~/RedisLock.html`. */
export function wayToGuide(path: string): string {
  const [, entry = "", name] = /^(?:(\w+)\/)?~\/(\w+)\.html$/.exec(path) ?? [];
  if (name === undefined) return "";
  const all = [...guide, ...background];
  const about = all.find(([, page]) => readFileSync(`docs/${page}.md`, "utf8").includes(`\n## ${name}\n`));
  const ofEntry = { "": "primitives", dashboard: "diagnostics" }[entry] ?? entry;
  const [title, page] = about ?? all.find(([, page]) => page === ofEntry)!;
  const section = about === undefined ? "" : `#${name.toLowerCase()}`;
  return `<p class="in-guide">In the guide: <a href="/${page}.html${section}">${about ? name : title}</a></p>`;
}
