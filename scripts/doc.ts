/** `deno task doc`: the reference of all entry points as a web site, in site/. */
import { execFileSync } from "node:child_process";
import { existsSync, rmSync } from "node:fs";

const entries = ["mod.ts", "lib/redis/mod.ts"].filter((file) => existsSync(file));
rmSync("site", { recursive: true, force: true });
execFileSync(Deno.execPath(), ["doc", "--html", "--name=Interlock", "--output=site", ...entries], {
  stdio: ["ignore", "inherit", "inherit"],
});
