/** Reads JUnit reports of Deno, Node and Bun, and the journals of tests/_one_failure.ts. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

export interface Case {
  readonly name: string;
  /** The error's text; undefined if the test passed. */
  readonly failure: string | undefined;
}

const CASE = /<testcase\b([^>]*?)(?:\/>|>([\s\S]*?)<\/testcase>)/g;
const FAILURE = /<(failure|error|skipped)\b([^>]*?)(?:\/>|>([\s\S]*?)<\/\1>)/;
const ENTITIES: Readonly<Record<string, string>> = { lt: "<", gt: ">", quot: '"', apos: "'", amp: "&" };

/**
 * The tests of a report; a skipped test has failed. Node reports each file like a test, which is a case only if it
 * failed.
 */
export function casesOf(report: string): Case[] {
  return [...report.matchAll(CASE)].flatMap(([, attributes, content = ""]): Case[] => {
    const name = text(/\bname="([^"]*)"/.exec(attributes!)?.[1] ?? "");
    const [, kind, about, body] = FAILURE.exec(content) ?? [];
    if (kind === undefined) return /_test\.m?[jt]s$/.test(name) ? [] : [{ name, failure: undefined }];
    const message = text(/\bmessage="([^"]*)"/.exec(about!)?.[1] ?? kind);
    return [{ name, failure: text(body ?? "").trim() || message }];
  });
}

function text(escaped: string): string {
  return escaped.replace(
    /&(?:#(x?)([\da-f]+)|(\w+));/gi,
    (all, hex, code, name) => name ? ENTITIES[name] ?? all : String.fromCodePoint(Number.parseInt(code, hex ? 16 : 10)),
  );
}

/** The tests that began, with their own failures; one that has not ended failed by that. */
export function journalOf(folder: string): Case[] {
  if (!existsSync(folder)) return [];
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

/** The same cases, whose failures are those of the bodies where they are known: Bun reports the first uncaught error. */
export function withCauses(cases: readonly Case[], journal: readonly Case[]): Case[] {
  const causes = new Map(journal.map(({ name, failure }) => [name, failure]));
  return cases.map((one) => ({ ...one, failure: one.failure && (causes.get(one.name) ?? one.failure) }));
}

/**
 * Errors that no test answers for, such as those of a file that is loaded, in the output of Deno and Bun. Beside the
 * failure of a body, Bun has there what that body left behind.
 */
export function uncaughtIn(output: string, failures: readonly Case[]): string[] {
  const plain = withoutColors(output);
  const found = [
    ...plain.matchAll(/^(\S.* \(uncaught error\)\n.+(?:\n(?! *\n|This error was not caught).+)*)/gm),
    ...(failures.every(isConsequence) ? plain.matchAll(/^# Unhandled error between tests\n-+\n([^]*?)\n-{9}/gm) : []),
  ];
  return [...new Set(found.map(([, text]) => text!))];
}

function withoutColors(output: string): string {
  // deno-lint-ignore no-control-regex -- the colors of a terminal
  return output.replace(/\x1b\[[\d;]*m/g, "");
}

/** The first error that a check of Deno reports: types, lint, format, documentation. Later ones often follow from it. */
export function firstCause(output: string): string {
  const found = /^(TS\d+ \[ERROR\]|error\[|from |error: )[^]*/m.exec(withoutColors(output));
  return (found?.[0] ?? "").split(/\n *\n/)[0]!.split("\n").slice(0, 8).map((line) => `    ${line}`).join("\n");
}

/**
 * Leaks, where another test has failed before, tests that an uncaught error left no time to begin, and Node's failure of
 * a file that cannot be loaded, which does not name the error.
 */
const CONSEQUENCE = /^(Leaks detected|Cancelled|skipped|\[Error: test failed\])/;

/** Whether another failure, or an error outside of all tests, may be the cause of this one. */
export function isConsequence({ failure }: Case): boolean {
  return CONSEQUENCE.test(failure!);
}

/** The failed tests with their errors, causes before consequences. */
export function failuresOf(cases: readonly Case[]): Case[] {
  const failed = cases.filter(({ failure }) => failure !== undefined);
  return [...failed.filter((one) => !isConsequence(one)), ...failed.filter(isConsequence)];
}

/** A failed test on a screen. */
export function show({ name, failure }: Case): string {
  const lines = failure!.split("\n").slice(0, 14).map((line) => `    ${line}`);
  return `FAILED ${name}\n${lines.join("\n")}`;
}
