/**
 * `deno task docs`: the whole site in site/: the guide by VitePress and as one text, the reference by `deno doc`, the
 * playground and a dashboard over a program in the page. Any static file server shows it. With --playground only the
 * scripts of the playground are built, next to its pages in docs/.
 *
 * The pages of `deno doc --html` are edited here, as it has no option for a page's head, a navigation, styles, the name in
 * import lines, or members on the page of their class (2.9.6). `@deno/doc` has some of them, in JSR only.
 */
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { buildSync } from "esbuild";
import { background, guide as pages } from "../docs/.vitepress/pages.ts";
import { entries, files } from "./_entries.ts";
import { joinMembers, wayToGuide } from "./_reference.ts";
import { size } from "./size.ts";

const SITE = "site";
const { name } = JSON.parse(readFileSync("deno.json", "utf8")) as { name: string };

function deno(...args: string[]): void {
  execFileSync(Deno.execPath(), args, { stdio: ["ignore", "inherit", "inherit"] });
}

/** The home page shows what an import costs. */
function guide(): void {
  const kB = (imports: string) => `${(size(imports) / 1000).toFixed(1)} kB`;
  const sizes = `No dependencies. Lock alone ${kB("{ Lock }")}, everything local ${kB("*")}, minified and gzipped.`;
  Deno.env.set("INTERLOCK_SIZES", sizes);
  deno("run", "-A", "npm:vitepress", "build", "docs");
}

/** The pages of `deno doc` get the guide's navigation, font and colours. */
function dressed(html: string, font: string): string {
  const face = `@font-face{font-family:Inter;font-weight:100 900;src:url(/assets/${font}) format("woff2")}`;
  const links = [["/index.html", `<img src="/logo.svg" alt="">Interlock`], ["/getting-started.html", "Guide"]]
    .concat([["/reference.html", "Reference"], ["/playground/index.html", "Playground"]])
    .map(([href, text]) => `<a href="${href}">${text}</a>`).join("");
  return html.replace("<head>", `<head><link rel="icon" href="/logo.svg">`)
    .replace("</head>", `<style>${face}</style><link rel="stylesheet" href="/reference.css"></head>`)
    .replace(/<body>/, `<body><nav class="guide" aria-label="Site">${links}</nav>`);
}

/** Light or dark as it was chosen in the guide, which stores "auto", too. */
function themed(script: string): string {
  const key = `"vitepress-theme-appearance"`;
  return script.replaceAll(`setItem("theme"`, `setItem(${key}`)
    .replaceAll(`localStorage.getItem("theme")`, `(localStorage.getItem(${key}) ?? "").replace("auto", "")`);
}

/** `deno doc` names an entry by its key in `exports`, as in `import { Lock } from "."`; users import it by its own name. */
function reference(): void {
  const folder = `${SITE}/reference`;
  const font = readdirSync(`${SITE}/assets`).find((file) => /^inter-roman-latin\./.test(file))!;
  deno("doc", "--html", "--quiet", `--name=${name}`, `--output=${folder}`, ...files);
  joinMembers(folder);
  for (const file of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
    if (!file.endsWith(".html")) continue;
    const html = readFileSync(`${folder}/${file}`, "utf8");
    const named = html.replace(/<div class="usageContent">[^]*?<\/code>[^>]*>/g, withOwnNames);
    const linked = named.replace(`class="contextLink">default<`, `class="contextLink">main entry<`)
      .replace(`<div id="content">`, `${wayToGuide(file)}<div id="content">`);
    writeFileSync(`${folder}/${file}`, dressed(linked, font));
  }
  const toggle = `${folder}/darkmode_toggle.js`;
  writeFileSync(toggle, themed(readFileSync(toggle, "utf8")));
}

function withOwnNames(usage: string): string {
  return entries.reduce((text, [key]) => {
    const shown = key.replace(/^\.\//, "");
    return text.replaceAll(`from &quot;${shown}&quot;`, `from &quot;${name}${key.slice(1)}&quot;`);
  }, usage);
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
  bundlePlayground();
  mkdirSync(`${SITE}/playground`, { recursive: true });
  for (const file of ["page.js", "style.css", "dashboard.js"]) {
    cpSync(`docs/playground/${file}`, `${SITE}/playground/${file}`);
  }
  // In the site they lead back; as files of the repository there is nothing to lead to.
  for (const file of ["index.html", "dashboard.html"]) {
    const html = readFileSync(`docs/playground/${file}`, "utf8");
    const back = `<p><a href="/index.html">Interlock</a> · <a href="/getting-started.html">Guide</a></p>`;
    writeFileSync(`${SITE}/playground/${file}`, html.replace("<body>", `<body>${back}`));
  }
}

/** The whole guide as one text, for language models and for reading offline: the README, then every page. */
function single(): void {
  const files = ["README.md", ...[...pages, ...background].map(([, page]) => `docs/${page}.md`)];
  const texts = files.map((file) => readFileSync(file, "utf8").replace(/<!--[^]*?-->\n*/g, ""));
  writeFileSync(`${SITE}/llms.txt`, texts.join("\n\n---\n\n"));
}

if (Deno.args.includes("--playground")) {
  bundlePlayground();
  Deno.exit();
}
rmSync(SITE, { recursive: true, force: true });
guide();
reference();
playground();
single();
console.log(`The site is in ${SITE}/.`);
