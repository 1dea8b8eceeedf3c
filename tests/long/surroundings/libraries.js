/**
 * The libraries whose calls are cancelled inside of a pool, each loaded when it is asked for: not every runner can load
 * every one. A cancelled call is no failure, whatever error the library makes of it, and of whichever realm.
 */
import { EventEmitter, on, once } from "node:events";
import { createServer } from "node:http";
import { addAbortSignal, PassThrough } from "node:stream";
import { finished, pipeline } from "node:stream/promises";
import { setTimeout as sleep } from "node:timers/promises";

/** The default export, also where a runner has made CommonJS of the module. */
const main = async (module) => (await module).default ?? await module;

/** By name: resolves to a function of a signal and of a URL that never answers. */
const LIBRARIES = {
  "timers/promises": () => (signal) => sleep(600_000, undefined, { signal }),
  "events.once": () => (signal) => once(new EventEmitter(), "never", { signal }),
  "events.on": () => async (signal) => {
    for await (const _ of on(new EventEmitter(), "never", { signal }));
  },
  "stream.pipeline": () => (signal) => pipeline(new PassThrough(), new PassThrough(), { signal }),
  "stream.finished": () => (signal) => finished(new PassThrough(), { signal }),
  "stream, read": () => async (signal) => {
    for await (const _ of addAbortSignal(signal, new PassThrough()));
  },
  fetch: () => {
    if (typeof fetch !== "function") throw new ReferenceError("fetch is not defined");
    return (signal, url) => fetch(url, { signal });
  },
  undici: async () => {
    const { request } = await import("undici");
    return (signal, url) => request(url, { signal });
  },
  "node-fetch": async () => {
    const nodeFetch = await main(import("node-fetch"));
    return (signal, url) => nodeFetch(url, { signal });
  },
  axios: async () => {
    const axios = await main(import("axios"));
    return (signal, url) => axios.get(url, { signal });
  },
  got: async () => {
    const got = await main(import("got"));
    return (signal, url) => got(url, { signal, retry: { limit: 0 } });
  },
  ky: async () => {
    const ky = await main(import("ky"));
    return (signal, url) => ky(url, { signal, retry: 0, timeout: false });
  },
  execa: async () => {
    const { execa } = await import("execa");
    return (signal) => execa("sleep", ["600"], { cancelSignal: signal });
  },
};

/** Cancels one task, leaves a map, and cancels a pool; returns what counted as a failure. */
async function cancelEach(Pool, work, reason) {
  const failures = [];
  const pool = new Pool(3);
  const task = await pool.createTask(work);
  await sleep(20); // mostly until the call has begun; a cancellation before that is none the less one
  task.cancel(reason);
  await pool.join();
  if (task.status !== "cancelled") failures.push(`a task: ${task.status}`);
  for await (const _ of pool.map([0, 1, 2], (n, _, signal) => n === 0 ? sleep(20) : work(signal))) break;
  const running = await pool.createTask(work);
  await sleep(20);
  pool.cancel(reason);
  await pool.join();
  if (running.status !== "cancelled") failures.push(`a cancelled pool: ${running.status}`);
  return failures;
}

/** Returns the names of the libraries that were tried, those that cannot be loaded here, and the failures. */
export async function cancelAll(Pool) {
  const server = createServer(() => {}).listen(0, "127.0.0.1"); // never answers
  await once(server, "listening");
  const url = `http://127.0.0.1:${server.address().port}`;
  const checked = [], missing = {}, failures = [];
  for (const [name, load] of Object.entries(LIBRARIES)) {
    let work;
    try {
      work = await load();
    } catch (error) {
      missing[name] = String(error).split("\n")[0];
      continue;
    }
    checked.push(name);
    for (const reason of [undefined, new Error("stop")]) {
      try {
        const failed = await cancelEach(Pool, (signal) => work(signal, url), reason);
        failures.push(...failed.map((what) => `${name}, ${what}`));
      } catch (error) {
        failures.push(`${name}: ${error?.name} ${error?.code} ${error?.message}, cause ${error?.cause}`);
      }
    }
  }
  server.close();
  server.closeAllConnections();
  return { checked, missing, failures };
}
