/**
 * The file and line of a caller, found in a stack trace behind the frames of this library.
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

class SourceLine implements CallSite {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  /** Empty for a function without a name. */
  readonly #function: string;

  constructor(file: string, line: number, column: number, name: string) {
    this.file = file;
    this.line = line;
    this.column = column;
    this.#function = name;
  }

  static isSameFunction(one: CallSite | undefined, other: CallSite | undefined): boolean {
    if (!(one instanceof SourceLine && other instanceof SourceLine)) return false;
    return one.file === other.file && one.#function === other.#function;
  }

  toString(): string {
    return `${printable(this.file.replace(/[?#].*$/, "").split(/[\\/]/).at(-1)!)}:${this.line}`;
  }
}

/** As many frames as the library may put between its user and the hook, and one more. */
const DEPTH = 30;

/** Longer lines of a stack are no places: a function may have any name. */
const LONGEST_LINE = 4096;

/** The present stack. Engines turn it into text when `stack` is read, which is late or never. */
export function captureStack(): Error {
  const before = (Error as { stackTraceLimit?: number }).stackTraceLimit;
  Reflect.set(Error, "stackTraceLimit", DEPTH); // where it is frozen, the stack stays shorter
  const error = new Error();
  Reflect.set(Error, "stackTraceLimit", before);
  return error;
}

/**
 * The first line of the stack that is neither the library's nor the run-time's own. Undefined in a bundle, where the
 * library's files cannot be distinguished from the user's, unless source maps are on.
 */
export function callerIn(stack: unknown): CallSite | undefined {
  if (typeof stack !== "string") return undefined; // Error.prepareStackTrace may make anything of it
  const sites = stack.split("\n").flatMap((line) => siteOf(line) ?? []);
  // The first frame is that of captureStack.
  const own = /^(.*\/)lib\/diagnostics\/call_site\.[jt]s$/.exec(pathOf(sites[0]?.file ?? ""))?.[1];
  return own === undefined ? undefined : sites.find(({ file }) => !isForeign(file) && !isOwn(pathOf(file), own));
}

/** As in `at run (file:///srv/checkout.ts:41:7)`, `at async /srv/checkout.ts:41:7` and `run@/srv/checkout.ts:41:7`. */
function siteOf(text: string): CallSite | undefined {
  if (text.length > LONGEST_LINE) return undefined;
  const found = /^\s*(?:at (?:async )?(?:(.*?) \()?(?:async )?|([^@]*)@)(.+?):(\d+):(\d+)\)?\s*$/.exec(text);
  if (found === null) return undefined;
  const [, inV8, inJsc, file, line, column] = found;
  return new SourceLine(file!, Number(line), Number(column), inV8 ?? inJsc ?? "");
}

/** Whether it is the run-time's. */
function isForeign(file: string): boolean {
  return /^(node:|ext:|bun:|native|internal|unknown$)/.test(file);
}

/** Whether it is the library's, whose folder is `own`. */
function isOwn(path: string, own: string): boolean {
  return path.startsWith(own) && /^(lib\/|mod\.[jt]s$)/.test(path.slice(own.length));
}

/** The path of a file URL, or the path itself, or the text of what looks like a URL and is none, as in `file:///100%.js`. */
function pathOf(file: string): string {
  try {
    return file.startsWith("file://") ? decodeURI(new URL(file).pathname) : file.replaceAll("\\", "/");
  } catch {
    return file;
  }
}

/** Whether both lines are in functions of one name in one file. */
export const isSameFunction: (one: CallSite | undefined, other: CallSite | undefined) => boolean =
  SourceLine.isSameFunction;
