/**
 * `deno task setup [--long]`: installs what the other tasks need from npm, and shows that it is at work. Prints nothing and
 * takes no time while node_modules is what package.json and deno.lock ask for; `deno install` alone would ask JSR each
 * time, for packages that tests/jsr has to itself. With --long also what the long tests need,
 * as no test downloads anything: other run-times, frameworks and surroundings.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import process from "node:process";
import { run } from "./_run.ts";

/** Inside the folder that it describes, so that both go together. */
const MARK = "node_modules/.interlock_setup";
/** A registry fails now and then. What has been fetched is kept, so the next attempt begins where this one ended. */
const ATTEMPTS = 3;
const DISTRUST = /certificate|UnknownIssuer|self.?signed/i;

function wanted(): string {
  return createHash("sha256").update(readFileSync("package.json")).update(readFileSync("deno.lock")).digest("hex");
}

/** Why the registry's certificate is refused, which Deno would try again for minutes; undefined if it is not. */
async function distrusted(): Promise<string | undefined> {
  const registry = spawnSync("npm", ["config", "get", "registry"], { encoding: "utf8" }).stdout?.trim();
  if (!registry?.startsWith("https:")) return undefined;
  try {
    const { body } = await fetch(registry, { signal: AbortSignal.timeout(10_000) });
    await body?.cancel();
  } catch (error) {
    const text = `${error} ${(error as Error).cause ?? ""}`;
    if (DISTRUST.test(text)) return `${registry}: ${text}`;
  }
  return undefined;
}

async function setUp(): Promise<number> {
  console.error("Installing development packages from npm (330 MB, the first time only). This takes a minute or two.");
  const reason = await distrusted();
  if (reason !== undefined) {
    console.error(
      `Cannot install: the registry's certificate is not trusted (${reason}). Behind a proxy with a certificate of its ` +
        "own, set DENO_TLS_CA_STORE=system, and SSL_CERT_FILE to the file of that certificate if the system has not got it.",
    );
    return 1;
  }
  for (let attempt = 1;; attempt++) {
    const { status } = await run([Deno.execPath(), "install", "--quiet"], { doing: "downloading" });
    if (status === 0 || attempt === ATTEMPTS) return status;
    console.error(`That failed. Attempt ${attempt + 1} of ${ATTEMPTS}:`);
  }
}

if (!existsSync(MARK) || readFileSync(MARK, "utf8") !== wanted()) {
  process.exitCode = await setUp();
  if (process.exitCode === 0) writeFileSync(MARK, wanted());
}

if (!process.exitCode && process.argv.includes("--long")) {
  const { status } = await run([Deno.execPath(), "run", "-A", "tests/long/install.ts"], {
    doing: "downloading run-times, frameworks and surroundings",
  });
  process.exitCode = status;
}
