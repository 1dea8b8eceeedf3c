/**
 * `deno task setup`: installs what the other tasks need from npm, and shows that it is at work. Prints nothing and takes
 * no time while node_modules is what package.json and deno.lock ask for.
 */
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import process from "node:process";

/** Inside the folder that it describes, so that both go together. */
const MARK = "node_modules/.interlock_setup";
const REPORTED = 5_000; // ms
/** A registry fails now and then. What has been fetched is kept, so the next attempt begins where this one ended. */
const ATTEMPTS = 3;

function wanted(): string {
  return createHash("sha256").update(readFileSync("package.json")).update(readFileSync("deno.lock")).digest("hex");
}

/** Deno shows a bar on a terminal. Elsewhere it prints a thousand lines at once and is then silent: this counts seconds. */
async function install(): Promise<number> {
  const isTerminal = process.stderr.isTTY === true;
  const installing = spawn(Deno.execPath(), ["install", ...isTerminal ? [] : ["--quiet"]], { stdio: "inherit" });
  const begun = performance.now();
  const report = () => console.error(`  ${Math.round((performance.now() - begun) / 1000)} s: still downloading`);
  const timer = isTerminal ? undefined : setInterval(report, REPORTED);
  const [status] = await once(installing, "close");
  clearInterval(timer);
  return status ?? 1;
}

if (!existsSync(MARK) || readFileSync(MARK, "utf8") !== wanted()) {
  console.error(
    "Installing development packages from npm, 330 MB, into node_modules; the first time it takes a minute or two.",
  );
  let status = await install();
  for (let attempt = 2; status !== 0 && attempt <= ATTEMPTS; attempt++) {
    console.error(`That failed. Attempt ${attempt} of ${ATTEMPTS}:`);
    status = await install();
  }
  if (status === 0) writeFileSync(MARK, wanted());
  process.exitCode = status;
}
