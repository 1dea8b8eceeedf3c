/** The rules of the source tree. Each takes the tree and returns the places that break it; an empty list means that it is kept. */
import ts from "typescript";
import type { Export, Tree } from "./tree.ts";

export type Rule = (tree: Tree) => string[];

/** From the bottom up: a file imports from lower rows only. Primitives, the pool and the shutdown are in no row: on top. */
const LAYERS = [
  ["types", "errors"],
  ["internal/class_name", "internal/dispose", "internal/once", "internal/start_log"],
  [
    "internal/check",
    "internal/is_cancellation",
    "internal/platform",
    "internal/rows",
    "internal/state",
    "internal/token_bucket",
  ],
  ["internal/budgets", "internal/hook", "internal/show"],
  ["internal/call_in", "internal/timers", "internal/wrap"],
  ["internal/cancellation", "internal/timer"],
  ["internal/waited_for"],
  ["internal/wait_queue"],
  ["internal/hold"],
  ["internal/start_queue"],
  ["internal/mutex", "internal/permits"],
].map((names) => names.map((name) => `lib/${name}.ts`));
/** The other entries may use of the local part: types, errors, and helpers that know no primitive. */
const SHARED = LAYERS.slice(0, 6).flat();
/** The folders of the entries beside `mod.ts`, and what each of them takes from another one. */
const ENTRIES: Readonly<Record<string, readonly string[]>> = {
  "lib/redis/": [],
  "lib/web/": [],
  "lib/diagnostics/": [],
  "lib/dashboard/": ["lib/diagnostics/mod.ts"], // what is public there, and nothing else
};

/** The folder of the entry that a file belongs to; undefined for the local part. */
const entryOf = (path: string): string | undefined => Object.keys(ENTRIES).find((folder) => path.startsWith(folder));
const isLocal = (path: string): boolean => path.startsWith("lib/") && entryOf(path) === undefined;

function layer(path: string): number {
  const index = LAYERS.findIndex((paths) => paths.includes(path));
  return index < 0 ? LAYERS.length : index;
}

/** Whether a file of an entry beside mod.ts imports from its own folder or from what it may take of others. */
function staysInside(folder: string, target: string): boolean {
  return target.startsWith(folder) || SHARED.includes(target) || ENTRIES[folder]!.includes(target);
}

function library(tree: Tree): string[] {
  return tree.paths.filter((path) => path.startsWith("lib/"));
}

/** Imports point down: mod.ts → primitives → internal → errors, types. The other entries take what is shared. */
export const importsPointDown: Rule = (tree) =>
  ["mod.ts", ...library(tree)].flatMap((path) =>
    tree.imports(path).flatMap(({ target, line }) => {
      if (target === undefined) return []; // onlyRelativeImports is about these
      // Primitives may be built on each other, and the two at the bottom are one: cycles are found elsewhere.
      const isDown = layer(target) < layer(path) ||
        (layer(target) === layer(path) && [0, LAYERS.length].includes(layer(path)));
      const folder = entryOf(path);
      const isFine = folder === undefined ? isLocal(target) && isDown : staysInside(folder, target);
      return isFine ? [] : [`${path}:${line} imports ${target}`];
    })
  );

/** No file imports itself, directly or not. */
export const noCycles: Rule = (tree) =>
  library(tree).filter((path) => tree.reachable(path).has(path)).map((path) => `${path} leads to itself`);

/** No driver, no run-time, no registry: only files of this tree, with their endings. */
export const onlyRelativeImports: Rule = (tree) =>
  ["mod.ts", ...library(tree)].flatMap((path) =>
    tree.imports(path)
      .filter(({ specifier }) => !/^\.\.?\/.*\.ts$/.test(specifier))
      .map(({ specifier, line }) => `${path}:${line} imports ${specifier}`)
  );

/** No file of lib/ touches `Deno`. */
export const noDeno: Rule = (tree) =>
  library(tree).flatMap((path) =>
    [...tree.nodes(path)].filter((node) => ts.isIdentifier(node) && node.text === "Deno" && !isInType(node))
      .map((node) => `${tree.at(path, node)} uses Deno`)
  );

const PLATFORM = "lib/internal/platform.ts";

/** One file knows the platform's `process`. Members of that name, and types, are something else. */
export const oneProcess: Rule = (tree) =>
  library(tree).filter((path) => path !== PLATFORM).flatMap((path) =>
    [...tree.nodes(path)].filter((node) =>
      ts.isPropertyAccessExpression(node) &&
      (node.name.text === "process" ? /\bglobalThis\b/ : /^process$/).test(node.expression.getText())
    ).map((node) => `${tree.at(path, node)} uses process`)
  );

/** The only files that may set timers or listen to signals. The page of the dashboard runs in a browser of its own. */
const CANCELLATION = ["lib/internal/cancellation.ts", "lib/internal/timers.ts", "lib/dashboard/page.ts"];
const TIMERS = /^(set|clear)(Timeout|Interval)$/;

/** Timers and the "abort" events of signals are known to the cancellation alone. */
export const oneCancellation: Rule = (tree) =>
  library(tree).filter((path) => !CANCELLATION.includes(path)).flatMap((path) =>
    [...tree.nodes(path)].filter((node) =>
      ts.isIdentifier(node) && TIMERS.test(node.text) && !isInType(node) || isAbortListener(node)
    ).map((node) => `${tree.at(path, node)} uses ${node.getText()}`)
  );

function isAbortListener(node: ts.Node): boolean {
  return ts.isCallExpression(node) && /addEventListener$/.test(node.expression.getText()) &&
    node.arguments[0]?.getText() === '"abort"';
}

function isInType(node: ts.Node): boolean {
  return ts.isTypeNode(node.parent) || ts.isPropertySignature(node.parent);
}

/** No `using` in lib/: older engines don't know it. */
export const noUsing: Rule = (tree) =>
  library(tree).flatMap((path) =>
    // Using is Let and Const together, AwaitUsing is that and Await.
    [...tree.nodes(path)].filter((node) =>
      ts.isVariableDeclarationList(node) && (node.flags & ts.NodeFlags.Using) === ts.NodeFlags.Using
    ).map((node) => `${tree.at(path, node)} has a using declaration`)
  );

/** No private getters in lib/: V8 (14.6, Node 26.10) calls its run-time system for each use of one. */
export const noPrivateGetters: Rule = (tree) =>
  library(tree).flatMap((path) =>
    [...tree.nodes(path)].filter((node) => ts.isGetAccessor(node) && ts.isPrivateIdentifier(node.name))
      .map((node) => `${tree.at(path, node)} has a private getter`)
  );

/** The most lines of code, comments and blank lines not counted, of a file in lib/. CONTRIBUTING.md names it, too. */
export const MOST_CODE_LINES = 250;

/** No file of lib/ is too long to be read at once. */
export const shortFiles: Rule = (tree) =>
  library(tree).flatMap((path) => {
    const lines = codeLines(tree.source(path));
    return lines <= MOST_CODE_LINES ? [] : [`${path} has ${lines} lines of code`];
  });

/** Comments and blank lines do not count. A string that holds the sign of a comment still counts. */
function codeLines({ text }: ts.SourceFile): number {
  const code = text.replaceAll(/\/\*[^]*?\*\/|\/\/.*/g, "");
  return code.split("\n").filter((line) => line.trim() !== "").length;
}

/** Nothing is in lib/ for tests alone: each function, class and constant is used there, or public. */
export const usedInLibrary: Rule = (tree) => {
  const uses = new Map<string, number>();
  for (const path of ["mod.ts", ...library(tree)]) {
    for (const node of tree.nodes(path)) {
      if (ts.isIdentifier(node)) uses.set(node.text, (uses.get(node.text) ?? 0) + 1);
    }
  }
  return library(tree).flatMap((path) =>
    tree.exports(path).filter(({ name, file, node }) => file === path && isValue(node) && uses.get(name) === 1)
      .map(({ name, node }) =>
        `${tree.at(path, node)} ${name} is not used in lib/: checks of tests stand in tests/sound/`
      )
  );
};

function isValue(node: ts.Node): boolean {
  return ts.isFunctionDeclaration(node) || ts.isClassDeclaration(node) || ts.isVariableDeclaration(node);
}

/** Every file of lib/ begins with its job. */
export const filesSayTheirJob: Rule = (tree) =>
  library(tree).filter((path) => !/^\/\*\*[^]*?\*\//.test(tree.source(path).text)).map((path) =>
    `${path} says nothing`
  );

/** Every public class and function has an example, and every such class says that it is not meant to be extended. */
export const commented = (entry: string): Rule => (tree) =>
  classesAndFunctions(tree, entry).flatMap(({ name, file, node }) => {
    const expected = ["@example", ...ts.isClassDeclaration(node) ? ["Not meant to be extended"] : []];
    return expected.filter((words) => !commentOf(node).includes(words))
      .map((words) => `${tree.at(file, node)} ${name} has no ${words}`);
  });

/** Every public method that waits documents fairness and cancellation. */
export const waitingIsExplained = (entry: string): Rule => (tree) =>
  tree.exports(entry).flatMap(({ name, file, node }) => {
    if (!ts.isClassDeclaration(node)) return [];
    return node.members.filter(waits).flatMap((member) =>
      ["**Fairness**", "**Cancellation**"].filter((word) => !commentOf(member).includes(word)).map((word) =>
        `${tree.at(file, member)} ${name}.${member.name?.getText()} has no ${word}`
      )
    );
  });

/** A public method that takes options and returns a promise is one that waits. */
function waits(member: ts.ClassElement): member is ts.MethodDeclaration {
  return ts.isMethodDeclaration(member) && !ts.isPrivateIdentifier(member.name) &&
    (member.type?.getText() ?? "").startsWith("Promise<") &&
    member.parameters.some(({ type }) => /Options\b/.test(type?.getText() ?? ""));
}

/** Every public class and function has a file of tests with the name of its own file. */
export const tested = (entry: string, testFiles: ReadonlySet<string>): Rule => (tree) =>
  classesAndFunctions(tree, entry).flatMap(({ name, file }) => {
    const expected = file.replace(/^lib/, "tests").replace(/\.ts$/, "_test.ts");
    return testFiles.has(expected) ? [] : [`${file} with ${name} has no ${expected}`];
  });

/** Every public name is there, with its members. */
export const hasNames = (entry: string, publicNames: Readonly<Record<string, string>>): Rule => (tree) => {
  const exported = tree.exports(entry);
  const missing = Object.keys(publicNames).filter((name) => !exported.some((one) => one.name === name));
  return missing.map((name) => `${entry} has no ${name}`).concat(exported.flatMap((one) => {
    const promised = publicNames[one.name]?.split(" ").filter((member) => member !== "");
    if (promised === undefined) return [`${one.name} is not in tests/shape/public_names.ts`];
    const there = [...tree.members(one)].filter((member) => !UNLISTED.has(member));
    return [
      ...promised.filter((member) => !there.includes(member) && !tree.members(one).has(member))
        .map((member) => `${one.name} has no ${member}`),
      ...there.filter((member) => !promised.includes(member)).map((member) =>
        `${one.name}.${member} is not in tests/shape/public_names.ts`
      ),
    ];
  }));
};

/** Members that need no entry. */
const UNLISTED = new Set(["constructor", "Symbol.dispose", "Symbol.asyncDispose", "Symbol.iterator"]);

/** What an entry exports, without its types and errors. */
function classesAndFunctions(tree: Tree, entry: string): Export[] {
  return tree.exports(entry).filter(({ name, node }) =>
    (ts.isClassDeclaration(node) || ts.isFunctionDeclaration(node)) && !name.endsWith("Error")
  );
}

function commentOf(node: ts.Node): string {
  return ts.getJSDocCommentsAndTags(node).map((one) => one.getFullText()).join("\n");
}
