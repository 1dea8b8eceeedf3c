/**
 * The second part of `deno task npm`: whether the built package suits users of npm. publint and attw look at its
 * shape; then the packed tarball is installed into an empty project, where it is loaded, measured, and the files of
 * tests/consumer are type-checked, in TypeScript from 5.2 on and with every way of resolving modules that it has.
 * With --quick only the oldest of these compilers, which are downloaded.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import process from "node:process";
import { size } from "./size.ts";

const TYPESCRIPTS = ["5.2.2", "5.4.5", "5.6.3", "5.7.3", "5.8.3", "5.9.3", "6.0.3", "7.0.2"];
const RESOLUTIONS = ["nodenext", "node16", "bundler", "node10"];
const shell = process.platform === "win32"; // where npm is a script

let failed = 0;
function check(what: string, cwd: string, command: string, ...args: string[]): void {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, encoding: "utf8", shell });
  console.log(`${status === 0 ? "ok    " : "FAILED"} ${what}`);
  if (status !== 0) console.log(stdout + stderr, ++failed);
}

/** A project that depends on the tarball and on nothing else. */
function install(): string {
  const project = mkdtempSync(join(tmpdir(), "interlock-consumer-"));
  const packed = execFileSync("npm", ["pack", "--json", "--pack-destination", project], {
    cwd: "npm",
    encoding: "utf8",
    shell,
  });
  const [{ filename }] = Object.values(JSON.parse(packed)) as [{ filename: string }];
  writeFileSync(join(project, "package.json"), JSON.stringify({ private: true, type: "module" }));
  execFileSync("npm", ["install", `./${filename}`], { cwd: project, shell, stdio: ["ignore", "ignore", "inherit"] });
  cpSync("tests/consumer", project, { recursive: true });
  // The same files as CommonJS modules, which node16 and nodenext give the declarations for `require`.
  for (const file of ["local", "redis", "web"]) cpSync(`tests/consumer/${file}.ts`, join(project, `${file}.cts`));
  return project;
}

/** The strictest settings that a user may have. */
function config(moduleResolution: string): string {
  const module = ["bundler", "node10"].includes(moduleResolution) ? "esnext" : moduleResolution;
  return JSON.stringify({
    compilerOptions: {
      ...{ target: "es2022", lib: ["es2018", "dom"], types: [] },
      ...{ module, moduleResolution, noEmit: true, skipLibCheck: false },
      ...{ strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true },
      ...{ noPropertyAccessFromIndexSignature: true, isolatedModules: true },
    },
    include: ["*.ts", "*.cts"],
  });
}

/** From the package and from the sources, which may differ by a twentieth. */
function compareSizes(project: string): void {
  for (const [imports, entry] of [["{ Lock }"], ["{ Semaphore }"], ["{ Pool }"], ["{ RedisLock, ioRedis }", "redis"]]) {
    const source = size(imports!, entry === undefined ? "./mod.ts" : `./lib/${entry}/mod.ts`);
    const packed = size(imports!, ["@interlock/interlock", entry].filter(Boolean).join("/"), project);
    const isFine = packed <= 1.05 * source;
    console.log(`${isFine ? "ok    " : "FAILED"} size of ${imports}: ${packed} bytes, ${source} from the sources`);
    if (!isFine) failed++;
  }
}

const deno = Deno.execPath();
check("publint", ".", deno, "run", "-A", "npm:publint", "--strict", resolve("npm"));
check("attw", ".", deno, "run", "-A", "npm:@arethetypeswrong/cli", "--pack", resolve("npm"));
const project = install();
check("import and require, Node", project, "node", "load.cjs");
check("import and require, Deno", project, deno, "run", "-A", "load.cjs");
if (execFileSync("node", ["-p", "process.features.require_module"], { encoding: "utf8" }).trim() === "true") {
  const args = ["--no-experimental-require-module", "load.cjs", "--two-copies"];
  check("the same without require(esm)", project, "node", ...args);
}
compareSizes(project);
for (const version of process.argv.includes("--quick") ? TYPESCRIPTS.slice(0, 1) : TYPESCRIPTS) {
  const compiler = `typescript@${version}`;
  for (const resolution of RESOLUTIONS) {
    if (resolution === "node10" && Number.parseInt(version) >= 6) continue; // which it no longer has
    writeFileSync(join(project, "tsconfig.json"), config(resolution));
    check(`${compiler}, ${resolution}`, project, "npx", "--yes", `--package=${compiler}`, "tsc");
  }
}
rmSync(project, { recursive: true });
process.exit(failed === 0 ? 0 : 1);
