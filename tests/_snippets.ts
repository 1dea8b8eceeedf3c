/**
 * The code in documentation as something that can be run: found in doc comments and Markdown, mapped to this tree, and
 * held to what its comments promise.
 *
 * A comment behind a `console.log` states what that line prints: `// 3`, or with a remark `// 3 (one was taken)`, or
 * when it prints more than once, `// 1, then 2`.
 */

export interface Snippet {
  /** Where it stands: file:line of its first line. */
  readonly name: string;
  readonly file: string;
  readonly line: number;
  /** The text behind the fence's opening backticks. */
  readonly info: string;
  readonly code: string;
}

/** A printed line: its number in the snippet's file and the text. */
export type Print = readonly [line: number, text: string];

const LANGUAGES_THAT_RUN = /^(ts|tsx|typescript|mts|js|jsx|javascript|mjs)\b/;

/** All fenced blocks of code in a Markdown file or in the doc comments of a TypeScript file. */
export function snippetsOf(file: string, text: string): Snippet[] {
  // In a doc comment every line is behind its asterisk; in TypeScript nothing else counts.
  const content = file.endsWith(".ts") ? /^\s*\* ?(.*)$/ : /^(.*)$/;
  const found: Snippet[] = [];
  let open: { line: number; info: string; code: string[] } | undefined;
  for (const [index, raw] of text.split(/\r?\n/).entries()) {
    const line = content.exec(raw)?.[1];
    const fence = line === undefined ? null : /^\s*```(.*)$/.exec(line);
    if (open === undefined) {
      if (fence) open = { line: index + 2, info: fence[1]!.trim(), code: [] };
    } else if (fence) {
      found.push({ name: `${file}:${open.line}`, file, line: open.line, info: open.info, code: open.code.join("\n") });
      open = undefined;
    } else {
      open.code.push(line ?? "");
    }
  }
  if (open !== undefined) throw new Error(`Cannot read ${file}: the block at line ${open.line} has no end`);
  return found;
}

/** Whether it is code that has to run; says so loudly where a fence tries to be an exception. */
export function runs(snippet: Snippet): boolean {
  if (!LANGUAGES_THAT_RUN.test(snippet.info)) return false;
  if (snippet.info === "ts") return true;
  throw new Error(
    `Cannot test ${snippet.name}: its fence is \`${snippet.info}\`, code that runs is \`ts\` and no more`,
  );
}

/** The snippet with this tree in place of the published module, its lines where they are in its file. */
export function mapped(snippet: Snippet, resolve: (specifier: string) => string): string {
  const code = snippet.code.replaceAll(
    /(["'])(@interlock\/interlock[^"']*)\1/g,
    (_, quote: string, specifier: string) => quote + resolve(specifier) + quote,
  );
  return `${"\n".repeat(snippet.line - 1)}${code}\nexport {};\n`;
}

/** The mapped code with every `console.log` reporting to `globalThis[hook](name, line, …)`. */
export function instrumented(name: string, code: string, hook: string): string {
  const lines = code.split("\n").map((line, index) =>
    line.replaceAll("console.log(", `globalThis.${hook}(${JSON.stringify(name)}, ${index + 1}, `)
  );
  // It is checked as it was written, not as it is run.
  return ["// @ts-nocheck", ...lines.slice(1)].join("\n");
}

/** The lines whose output differs from their comments, and the output that differs from a last comment "Prints:". */
export function brokenPromises(snippet: Snippet, prints: readonly Print[]): string[] {
  const broken: string[] = [];
  const all = /\n\/\/ Prints:\n([^]+)$/.exec(snippet.code)?.[1]?.replaceAll(/^\/\/ /gm, "").trimEnd();
  const shown = prints.map(([, text]) => text).join("\n");
  if (all !== undefined && all !== shown) broken.push(`${snippet.name} printed:\n${shown}`);
  for (const [index, line] of snippet.code.split("\n").entries()) {
    const stated = /\bconsole\.log\(.*\/\/ (.+)$/.exec(line)?.[1];
    if (stated === undefined) continue;
    const number = snippet.line + index;
    const printed = prints.filter(([at]) => at === number).map(([, text]) => text).join(", then ");
    if (printed === stated || printed === stated.replace(/ \([^()]*\)$/, "") && printed !== "") continue;
    broken.push(
      `${snippet.file}:${number} printed ${JSON.stringify(printed)}, its comment says ${JSON.stringify(stated)}`,
    );
  }
  return broken;
}
