/**
 * `deno task demo:redis`: processes take turns through Redis; the one that holds is killed, and the next one goes on.
 * Without redis-server, the workers are calls of this process, over a backend in memory.
 */
import { memoryBackend, RedisLock } from "@interlock/interlock/redis";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { kill, startScript } from "../shared/processes.ts";
import { connect } from "../shared/redis.ts";
import { startServer } from "../shared/redis_server.ts";
import { type Lane, Stage } from "./lanes.ts";

const WORKERS = 4;
const script = fileURLToPath(new URL("./redis_worker.ts", import.meta.url));

/** How the workers run. */
interface Workers {
  /** One of them, and all of them, in words. */
  readonly is: string;
  readonly are: string;
  /** Begins one; returns how to kill it. */
  start(lane: Lane): () => Promise<unknown>;
  close(): Promise<unknown>;
}

async function processes(): Promise<Workers> {
  const { url, stop } = await startServer();
  try {
    (await connect(url)).close(); // a server that has just been started needs a moment
  } catch (error) {
    await stop();
    throw error;
  }
  const start = (lane: Lane) => {
    const child = startScript(script, [url], (state) => lane.is(state as Lane["state"]));
    return () => kill(child);
  };
  return { is: "process", are: "processes", start, close: stop };
}

function calls(): Workers {
  const lock = new RedisLock(memoryBackend(), "demo", { ttl: 1000, renew: false });
  const start = (lane: Lane) => {
    let killed = false;
    const work = async () => {
      while (!killed) {
        lane.is("waits");
        const lease = await lock.acquire();
        if (killed) return; // as a crash does, without a release
        lane.is("holds");
        await sleep(400);
        if (killed) return;
        await lease.release();
        lane.is("idle");
        await sleep(50);
      }
    };
    void work();
    return () => Promise.resolve(killed = true);
  };
  return { is: "call", are: "calls of one process", start, close: () => Promise.resolve() };
}

/** Processes, if there is a server for them. */
async function startWorkers(stage: Stage): Promise<Workers> {
  try {
    return await processes();
  } catch (error) {
    if (process.env.REDIS_URL) throw error;
    stage.say(
      `${(error as Error).message}.\nUntil then: memoryBackend(), which excludes nothing outside of this process.\n`,
    );
    return calls();
  }
}

/** Lets the workers take turns, kills the holder; returns the milliseconds until the next one held. */
async function takeTurns(workers: Workers, lanes: readonly Lane[], kills: (() => Promise<unknown>)[]): Promise<number> {
  for (const lane of lanes) kills.push(workers.start(lane));
  while (lanes.filter((lane) => lane.state !== "idle").length < WORKERS) await sleep(20);
  await sleep(1500);
  const holder = await holding(lanes);
  await kills[lanes.indexOf(holder)]!();
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
  const kills: (() => Promise<unknown>)[] = [];
  const workers = await startWorkers(stage);
  const end = async () => {
    stage.restore();
    for (const kill of kills) await kill();
    await workers.close();
  };
  process.once("SIGINT", () => void end().then(() => process.exit(130)));
  try {
    stage.say(`${WORKERS} ${workers.are} share one RedisLock with a ttl of 1 s. Then the holder is killed.\n`);
    const names = Array.from({ length: WORKERS }, (_, i) => `${workers.is} ${i + 1}`);
    const took = await stage.picture(names, (lanes) => takeTurns(workers, lanes, kills));
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
