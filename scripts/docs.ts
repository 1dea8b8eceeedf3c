/**
 * `deno task docs`: the whole site in site/: the guide by VitePress, as pages and as one text, the reference by TypeDoc,
 * the playground, and a dashboard over a program in the page. Any static file server shows it. With --playground only
 * the scripts of the playground are built, next to its pages in docs/.
 */
import { execFileSync } from "node:child_process";
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { buildSync } from "esbuild";
import { background, guide as pages, migrating } from "../docs/.vitepress/pages.ts";
import { size } from "./size.ts";

const SITE = "site";

function deno(...args: string[]): void {
  execFileSync(Deno.execPath(), args, { stdio: ["ignore", "inherit", "inherit"] });
}

/** The home page shows what an import costs. */
function guide(): void {
  const kB = (imports: string) => `${(size(imports) / 1000).toFixed(1)} kB`;
  const sizes = `No dependencies. Lock alone ${kB("{ Lock }")}, the whole main entry ${kB("*")}, minified and gzipped.`;
  deno("run", "-A", "scripts/timelines.ts", "--phone");
  Deno.env.set("INTERLOCK_SIZES", sizes);
  deno("run", "-A", "npm:vitepress", "build", "docs");
}

/** The reference as pages of the guide, by TypeDoc: members on the page of their class, found by the guide's search. */
function reference(): void {
  rmSync("docs/reference", { recursive: true, force: true });
  deno("run", "-A", "npm:typedoc", "--options", "docs/.vitepress/typedoc.json");
}

/** Bundles the module and the two pages that run it, docs/playground/{index,dashboard}.html. */
function bundlePlayground(): void {
  for (const [page, format] of [["page", "iife"], ["dashboard", "esm"]] as const) { // a classic script works from a file
    const [entryPoints, outfile] = [[`docs/playground/${page}.ts`], `docs/playground/${page}.js`];
    buildSync({ entryPoints, outfile, format, bundle: true, minify: true, target: "es2022", logLevel: "error" });
  }
  console.log("Open docs/playground/index.html in a browser.");
}

function playground(): void {
  cpSync("docs/playground", `${SITE}/playground`, { recursive: true, filter: (file) => !file.endsWith(".ts") });
  // In the site they have its header; as files of the repository there is nothing to lead to.
  const font = readdirSync(`${SITE}/assets`).find((file) => file.startsWith("inter-roman-latin."))!;
  const nav = readFileSync("docs/playground/nav.html", "utf8").replace("FONT", `/assets/${font}`);
  for (const file of ["index.html", "dashboard.html"]) {
    const html = readFileSync(`docs/playground/${file}`, "utf8");
    writeFileSync(`${SITE}/playground/${file}`, html.replace("<body>", `<body>${nav}`));
  }
}

/** The examples as texts, which a browser shows. */
function examples(): void {
  const files = readdirSync("examples", { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".ts"));
  for (const file of files) cpSync(`examples/${file}`, `${SITE}/examples/${file}.txt`);
}

/** The whole guide as one text, for language models and for reading offline: the README, then every page. */
function single(): void {
  const files = ["README.md", ...[...pages, ...migrating, ...background].map(([, page]) => `docs/${page}.md`)];
  const texts = files.map((file) => readFileSync(file, "utf8").replace(/<!--[^]*?-->\n*/g, ""));
  writeFileSync(`${SITE}/llms.txt`, texts.join("\n\n---\n\n"));
}

bundlePlayground();
if (Deno.args.includes("--playground")) Deno.exit();
rmSync(SITE, { recursive: true, force: true });
reference();
guide();
playground();
examples();
single();
console.log(`The site is in ${SITE}/.`);
