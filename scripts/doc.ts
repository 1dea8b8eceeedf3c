/** `deno task doc`: the reference of all entry points as a web site, in site/. */
import { execFileSync } from "node:child_process";
import { rmSync } from "node:fs";
import { files } from "./_entries.ts";

rmSync("site", { recursive: true, force: true });
execFileSync(Deno.execPath(), ["doc", "--html", "--name=Interlock", "--output=site", ...files], {
  stdio: ["ignore", "inherit", "inherit"],
});
