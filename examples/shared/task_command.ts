/** The command that runs a task, as the reader of a demo can type it: the Deno that npx brings is not on the path. */
import process from "node:process";

export function taskCommand(task: string, env: NodeJS.ProcessEnv = process.env): string {
  const version = process.versions["deno"];
  const isNpx = env["npm_lifecycle_event"] === "npx" && version !== undefined;
  return `${isNpx ? `npx --yes deno@${version}` : "deno"} task ${task}`;
}
