/**
 * A server that answers as a test says, without a connection: for what depends on the moment at which an answer comes,
 * or does not.
 */
import type { Backend } from "../../lib/redis/mod.ts";

export type Command = "greet" | "acquire" | "release" | "renew" | "verify";

/** The time of such a server in microseconds: it moves with the monotonic clock, also with a fake one. */
export function serverTime(): number {
  return 1e15 + Math.floor(performance.now() * 1000);
}

/** The answer that the caller waits: nothing ahead of it ends soon, and its subscription is heard. */
export function queuedReply({ askAt = 0, deaf = false, goOn = false } = {}): number[] {
  return [0, serverTime(), 1, askAt, Number(deaf), Number(goOn)];
}

/** What never comes. */
export const nothing: Promise<never> = new Promise(() => {});

/** Which command it is can be told by its keys and arguments. */
function commandOf(keys: string[], args: string[]): Command {
  if (keys.length === 0) return "greet";
  if (keys.length === 1 && args.length === 2) return "verify";
  if (args.length === keys.length * 4 + 1) return "renew";
  return args.length > 3 ? "acquire" : "release";
}

/** Answers as `answer` does; where that says nothing (undefined), as a server would for a lock that is free. */
export function scripted(answer: (command: Command, args: string[]) => unknown): Backend {
  const run = async (_: string, keys: string[], args: string[]) => {
    const command = commandOf(keys, args);
    return await answer(command, args) ?? usual(command, keys);
  };
  return { evalsha: run, eval: run };
}

function usual(command: Command, keys: string[]): unknown {
  const time = serverTime();
  if (command === "greet") return time;
  if (command === "verify") return [time, 1e6];
  if (command === "renew") return [time, ...keys.map(() => 1)];
  return [1, time, command === "acquire" ? time : 0];
}
