/** A page from three sources: when one fails, the others stop. */
import { TaskGroup } from "@interlock/interlock";
import { setTimeout as sleep } from "node:timers/promises";

/** Three requests, of which the second fails early; counts the requests that run to their end. */
class Sources {
  finished = 0;

  async request(name: string, signal?: AbortSignal): Promise<string> {
    if (name === "prices") throw new Error("no prices");
    await sleep(name === "stock" ? 10 : 20, undefined, { signal });
    this.finished++;
    return name;
  }
}

export async function main(print: (line: string) => void = console.log) {
  const names = ["product", "prices", "stock"];
  const left = new Sources();
  const all = names.map((name) => left.request(name));
  await Promise.all(all).catch(({ message }) => print(`Promise.all: ${message}, the others run on`));
  await Promise.allSettled(all);
  print(`${left.finished} finished for nothing`);

  const ended = new Sources();
  try {
    await TaskGroup.scope((group) => {
      for (const name of names) group.run((signal) => ended.request(name, signal));
    });
  } catch (error) {
    print(`TaskGroup: ${(error as Error).message}, ${ended.finished} finished for nothing`);
  }
}

if (import.meta.main) await main();
