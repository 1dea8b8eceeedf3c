/**
 * `deno task docs`: the whole site in site/: the guide by VitePress, the reference by `deno doc`, the playground and
 * a dashboard over a program in the page.
 * Any static file server shows it.
 */
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { entries, files } from "./_entries.ts";

const SITE = "site";
const { name } = JSON.parse(readFileSync("deno.json", "utf8")) as { name: string };

function deno(...args: string[]): void {
  execFileSync(Deno.execPath(), args, { stdio: ["ignore", "inherit", "inherit"] });
}

function guide(): void {
  deno("run", "-A", "npm:vitepress", "build", "docs");
}

/** `deno doc` names an entry by its key in `exports`, as in `import { Lock } from "."`; users import it by its own name. */
function reference(): void {
  const folder = `${SITE}/reference`;
  deno("doc", "--html", "--quiet", `--name=${name}`, `--output=${folder}`, ...files);
  for (const file of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
    if (!file.endsWith(".html")) continue;
    const html = readFileSync(`${folder}/${file}`, "utf8");
    const named = html.replace(/<div class="usageContent">[^]*?<\/code>[^>]*>/g, withOwnNames);
    writeFileSync(`${folder}/${file}`, named.replace("<head>", `<head><link rel="icon" href="/logo.svg">`));
  }
}

function withOwnNames(usage: string): string {
  return entries.reduce((text, [key]) => {
    const shown = key.replace(/^\.\//, "");
    return text.replaceAll(`from &quot;${shown}&quot;`, `from &quot;${name}${key.slice(1)}&quot;`);
  }, usage);
}

function playground(): void {
  deno("run", "-A", "scripts/playground.ts");
  mkdirSync(`${SITE}/playground`, { recursive: true });
  for (const file of ["index.html", "page.js", "style.css", "dashboard.html", "dashboard.js"]) {
    cpSync(`docs/playground/${file}`, `${SITE}/playground/${file}`);
  }
}

rmSync(SITE, { recursive: true, force: true });
guide();
reference();
playground();
console.log(`The site is in ${SITE}/.`);
