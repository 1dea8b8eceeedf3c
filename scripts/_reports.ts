/** Reads the journals of tests/_one_failure.ts, and the output of run-times. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

export interface Case {
  readonly name: string;
  /** The error's text; undefined if the test passed. */
  readonly failure: string | undefined;
}

/** The tests that began, with their own failures; one that has not ended failed by that. */
export function journalOf(folder: string): Case[] {
  return readdirSync(folder).flatMap((file) => {
    const cases = new Map<string, string | undefined>();
    for (const line of readFileSync(join(folder, file), "utf8").trimEnd().split("\n")) {
      const { began, passed, failed, error } = JSON.parse(line) as Record<string, string>;
      cases.set((began ?? passed ?? failed)!, began === undefined ? error : RUNNING);
    }
    return [...cases].map(([name, failure]) => ({ name, failure }));
  });
}

const RUNNING = "still running when its step was ended";

/** The same cases, with the failures in the output of Bun, which fails a test at an uncaught error while its body goes on. */
export function withFailuresOfBun(cases: readonly Case[], output: string): Case[] {
  // A text before each result, then the result and the name.
  const parts = withoutColors(output).split(/^\((pass|fail)\) (.+?)(?: \[.*\])?$/m);
  const failures = new Map<string, string>();
  for (let i = 0; i + 2 < parts.length; i += 3) {
    if (parts[i + 1] === "fail") failures.set(parts[i + 2]!, parts[i]!.trim());
  }
  return cases.map((one) => ({ ...one, failure: one.failure ?? failures.get(one.name) }));
}

/**
 * Errors that no test answers for, such as those of a file that is loaded, in the output of Deno and Bun. Beside the
 * failure of a body, Bun has there what that body left behind.
 */
export function uncaughtIn(output: string, failures: readonly Case[]): string[] {
  const plain = withoutColors(output);
  const found = [
    ...plain.matchAll(/^(\S.* \(uncaught error\)\n.+(?:\n(?! *\n|This error was not caught).+)*)/gm),
    ...(failures.length === 0 ? plain.matchAll(/^# Unhandled error between tests\n-+\n([^]*?)\n-{9}/gm) : []),
  ];
  return [...new Set(found.map(([, text]) => `UNCAUGHT in no test: ${text}`))];
}

function withoutColors(output: string): string {
  // deno-lint-ignore no-control-regex -- the colors of a terminal
  return output.replace(/\x1b\[[\d;]*m/g, "");
}

/** The first error that a check of Deno reports: types, lint, format, documentation. Later ones often follow from it. */
export function firstCause(output: string): string {
  const found = /^(TS\d+ \[ERROR\]|error\[|from |error: )[^]*/m.exec(withoutColors(output));
  return indented((found?.[0] ?? "").split(/\n *\n/)[0]!, 8);
}

export function failuresOf(cases: readonly Case[]): Case[] {
  return cases.filter(({ failure }) => failure !== undefined);
}

/** A failed test on a screen. */
export function show({ name, failure }: Case): string {
  return `FAILED ${name}\n${indented(failure!, 14)}`;
}

/** The first lines of a text. */
function indented(text: string, most: number): string {
  return text.split("\n").slice(0, most).map((line) => `    ${line}`).join("\n");
}
