/** The rules for files that are not source: tasks, paths and versions that they name exist, and they name no machine. */

export interface DenoJson {
  readonly exports: Readonly<Record<string, string>>;
  readonly tasks: Readonly<Record<string, unknown>>;
}

/** Tasks that a document names and that do not exist. */
export function unknownTasks(path: string, text: string, { tasks }: DenoJson): string[] {
  const named = [...text.matchAll(/\bdeno(?:@[\w.]+)? task ([\w:-]+)/g)].map(([, task]) => task!);
  return named.filter((task) => !(task in tasks)).map((task) => `${path} names the task ${task}`);
}

/**
 * Paths that a document names and that do not exist, and names of files that no file has; of those behind the word "new",
 * the ones that do exist. NAME stands for any name.
 */
export function wrongPaths(path: string, text: string, files: ReadonlySet<string>): string[] {
  const all = [...files];
  const exists = (named: string) =>
    files.has(named) || all.some((file) => file.startsWith(`${named}/`) || file.endsWith(`/${named}`));
  const folders = "lib|tests|bench|docs|examples|scripts";
  const paths = text.matchAll(new RegExp(`(new \`)?(?<![\\w./])((?:${folders})/[\\w./@-]*\\w)`, "g"));
  const names = text.matchAll(/()`(\w+\.ts)`/g);
  return [...paths, ...names].flatMap(([, isNew, target = ""]) => {
    if (target.includes("NAME") || exists(target) !== Boolean(isNew)) return [];
    return `${path} names ${target}, which ${isNew ? "exists" : "does not exist"}`;
  });
}

/** Versions of Deno as a package of npm that are not the pinned one. */
export function otherVersions(path: string, text: string, pinned: string): string[] {
  const named = [...text.matchAll(/\bdeno@(\d+\.[\w.]*\w)/g)].map(([, version]) => version!);
  return named.filter((version) => version !== pinned).map((version) => `${path} names Deno ${version}`);
}

/** Paths and hosts that mean something on one machine only. Put together here, so that this file has none of them. */
const MACHINE_WORDS = [
  ["/", "work/"],
  ["/tmp", "/wt"],
  ["/", "root/"],
  ["/", "home/"],
  ["/", "Users/"],
  ["registry.", "npmjs"],
  ["localhost:", "4873"],
].map((parts) => parts.join(""));

export function machineWords(path: string, text: string): string[] {
  return MACHINE_WORDS.filter((word) => text.includes(word)).map((word) => `${path} has ${word}`);
}

/** Uses of actions in a workflow that are not pinned by a commit, and jobs of it whose permissions are not stated. */
export function looseWorkflow(path: string, text: string): string[] {
  const loose = [...text.matchAll(/uses: (.*)/g)].filter(([, use]) =>
    !/^[\w-]+\/[\w/-]+@[0-9a-f]{40} # v[\d.]+$/.test(use!)
  )
    .map(([, use]) => `${path} uses ${use}, which can change`);
  return /^permissions:/m.test(text) ? loose : [...loose, `${path} has the default permissions`];
}
