/**
 * Finds the file and line of a caller in a stack trace, behind the frames of this library.
 *
 * @module
 */
import { printable } from "../internal/check.ts";

/** A line of the user's code. */
export interface CallSite {
  /** The file's URL or path, as the run-time shows it. */
  readonly file: string;
  /** The line's number, from 1. */
  readonly line: number;
  /** The column's number, from 1. */
  readonly column: number;
  /** Without the folder, as in `checkout.ts:41`. */
  toString(): string;
}

export class SourceLine implements CallSite {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  /** Empty for an anonymous function. */
  readonly #function: string;

  constructor(file: string, line: number, column: number, name: string) {
    this.file = file;
    this.line = line;
    this.column = column;
    this.#function = name;
  }

  /** Whether both lines are in functions of the same name in the same file. */
  isInFunctionOf(other: SourceLine | undefined): boolean {
    return this.file === other?.file && this.#function === other.#function;
  }

  toString(): string {
    return `${printable(this.file.replace(/[?#].*$/, "").split(/[\\/]/).at(-1)!)}:${this.line}`;
  }
}

/** One more than the maximum number of library frames between the user's code and the hook. */
const STACK_DEPTH = 30;

/** Longer lines of a stack are ignored: a function name may be of any length. */
const LONGEST_LINE = 4096;

/** Captures the present stack. Engines format it only when `stack` is read, late or never. */
export function captureStack(): Error {
  const formerLimit = (Error as { stackTraceLimit?: number }).stackTraceLimit;
  Reflect.set(Error, "stackTraceLimit", STACK_DEPTH); // where it is frozen, the stack stays shorter
  const error = new Error();
  Reflect.set(Error, "stackTraceLimit", formerLimit);
  return error;
}

/**
 * Returns the first line of the stack outside the library and the run-time. Undefined in a bundle without source maps,
 * which does not distinguish the library's files from the user's.
 */
export function callerIn(stack: unknown): SourceLine | undefined {
  if (typeof stack !== "string") return undefined; // Error.prepareStackTrace may make anything of it
  const sites = stack.split("\n").flatMap((line) => siteOf(line) ?? []);
  // The first frame is that of captureStack, in this file: its path shows the library's folder.
  const root = /^(.*\/)(?:lib\/diagnostics\/call_site\.[jt]s|dist\/interlock-\w+\.c?js)$/.exec(
    pathOf(sites[0]?.file ?? ""),
  )?.[1];
  return root === undefined ? undefined : sites.find(({ file }) => !isForeign(file) && !isOwn(pathOf(file), root));
}

/**
 * Parses a line such as `at run (file:///srv/checkout.ts:41:7)`, `at async /srv/checkout.ts:41:7` and
 * `run@/srv/checkout.ts:41:7`.
 */
function siteOf(stackLine: string): SourceLine | undefined {
  if (stackLine.length > LONGEST_LINE) return undefined;
  const found = /^\s*(?:at (?:async )?(?:(.*?) \()?(?:async )?|([^@]*)@)(.+?):(\d+):(\d+)\)?\s*$/.exec(stackLine);
  if (found === null) return undefined;
  const [, v8Name, jscName, file, line, column] = found;
  return new SourceLine(file!, Number(line), Number(column), v8Name ?? jscName ?? "");
}

/** Whether the file belongs to the run-time. */
function isForeign(file: string): boolean {
  return /^(node:|ext:|bun:|native|internal|unknown$)/.test(file);
}

/** Whether the path is of a file of the library, whose folder is `root`. */
function isOwn(path: string, root: string): boolean {
  return path.startsWith(root) && /^(lib\/|dist\/interlock-|mod\.[jt]s$)/.test(path.slice(root.length));
}

/** The path of a file URL; any other text, such as a path or the invalid `file:///100%.js`, as it is. */
function pathOf(file: string): string {
  try {
    return file.startsWith("file://") ? decodeURI(new URL(file).pathname) : file.replaceAll("\\", "/");
  } catch {
    return file;
  }
}
