/** Reads JUnit reports of Deno, Node and Bun. */

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

/** Leaks, where another test has failed before, and tests that an uncaught error left no time to begin. */
const CONSEQUENCE = /^(Leaks detected|Cancelled)/;

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
