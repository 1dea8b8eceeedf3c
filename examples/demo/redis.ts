/** `deno task demo:redis`: processes take turns through Redis; the one that holds is killed, and the next one goes on. */
import type { ChildProcess } from "node:child_process";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { kill, startScript } from "../shared/processes.ts";
import { connect } from "../shared/redis.ts";
import { startServer } from "../shared/redis_server.ts";
import { type Lane, Stage } from "./lanes.ts";

const WORKERS = 4;
const worker = fileURLToPath(new URL("./redis_worker.ts", import.meta.url));

/** Lets the workers take turns, kills the holder; returns the milliseconds until the next one held. */
async function takeTurns(url: string, lanes: readonly Lane[], children: ChildProcess[]): Promise<number> {
  for (const lane of lanes) children.push(startScript(worker, [url], (state) => lane.is(state as Lane["state"])));
  while (lanes.filter((lane) => lane.state !== "idle").length < WORKERS) await sleep(20);
  await sleep(1500);
  const holder = await holding(lanes);
  await kill(children[lanes.indexOf(holder)]!);
  holder.is("killed");
  const killed = performance.now();
  await holding(lanes);
  const took = performance.now() - killed;
  await sleep(1500);
  return took;
}

async function holding(lanes: readonly Lane[]): Promise<Lane> {
  for (;;) {
    const holder = lanes.find((lane) => lane.state === "holds");
    if (holder !== undefined) return holder;
    await sleep(5);
  }
}

async function main(): Promise<void> {
  const stage = new Stage(process.stdout.isTTY === true && !process.env.NO_COLOR, (text) => process.stdout.write(text));
  const children: ChildProcess[] = [];
  const { url, stop } = await startServer();
  const end = async () => {
    stage.restore();
    for (const child of children) await kill(child);
    await stop();
  };
  process.once("SIGINT", () => void end().then(() => process.exit(130)));
  try {
    (await connect(url)).close(); // a server that has just been started needs a moment
    stage.say(`${WORKERS} processes share one RedisLock with a ttl of 1 s. Then the holder gets kill -9.\n`);
    const names = Array.from({ length: WORKERS }, (_, i) => `process ${i + 1}`);
    const took = await stage.picture(names, (lanes) => takeTurns(url, lanes, children));
    stage.say(`\nThe holder was killed; ${Math.round(took)} ms later the next one held: its lease had to run out.`);
  } finally {
    await end();
  }
}

try {
  await main();
  process.exit(0);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exit(1);
}
