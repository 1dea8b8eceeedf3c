/**
 * A server that gets more requests than it can serve. If its queue grows, it serves all of them, each later than the
 * previous one; if its queue is bounded, it serves as many as it can in time, and refuses the rest at once, with a
 * Retry-After.
 */
import { Pool, QueueFullError, RateLimiter, TimeoutError } from "@interlock/interlock";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

type Handler = (response: ServerResponse) => Promise<void>;

/** Milliseconds of a query, and the number of queries that the database runs at a time: 200 a second. */
const [QUERY, CONNECTIONS] = [20, 4];
const query = (signal: AbortSignal) => sleep(QUERY, "done", { signal });

/** Every request waits as long as necessary. */
export function growing(): Handler {
  const connections = new Pool(CONNECTIONS);
  return async (response) => void response.end(await connections.run(query));
}

/** At most 30 requests wait, which takes 200 ms: further requests get 503 at once. */
export function bounded(): Handler {
  const starts = new RateLimiter(15, 100, { maxWaiting: 30 }); // three quarters of the rate of the database
  const connections = new Pool(CONNECTIONS, { maxWaiting: 15 });
  return async (response) => {
    const gone = new AbortController();
    response.once("close", () => gone.abort()); // a client that has left takes no place
    const wait = { signal: gone.signal, timeout: 500 };
    try {
      await starts.acquire(wait);
      response.end(await connections.run(query, wait));
    } catch (error) {
      if (gone.signal.aborted) return;
      const isBusy = error instanceof QueueFullError || error instanceof TimeoutError;
      if (isBusy) response.setHeader("retry-after", Math.max(1, Math.ceil(starts.retryAfter() / 1000)));
      response.writeHead(isBusy ? 503 : 500).end();
    }
  };
}

export interface Answer {
  /** Milliseconds from the start of the load until it was sent. */
  readonly at: number;
  readonly status: number;
  readonly retryAfter: number;
  /** Milliseconds until its response. */
  readonly took: number;
}

/** Sends requests at a fixed pace for `ms` milliseconds, however slow the responses are, and waits for all of them. */
export async function load(handler: Handler, perSecond: number, ms: number): Promise<Answer[]> {
  const server = createServer((_, response) => void handler(response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const begin = performance.now();
  const ask = async (at: number): Promise<Answer> => {
    const sent = performance.now();
    const response = await fetch(url);
    await response.text();
    const retryAfter = Number(response.headers.get("retry-after"));
    return { at, status: response.status, retryAfter, took: performance.now() - sent };
  };
  const answers: Promise<Answer>[] = [];
  for (let at = 0; at < ms; at += 1000 / perSecond) {
    const early = at - (performance.now() - begin);
    if (early > 1) await sleep(early);
    answers.push(ask(at));
  }
  const all = await Promise.all(answers);
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  return all;
}

export async function main(print: (line: string) => void = console.log) {
  const [late, intime] = [await load(growing(), 2000, 100), await load(bounded(), 2000, 100)];
  const refused = intime.filter(({ status }) => status === 503);
  const served = intime.filter(({ status }) => status === 200);
  print(`growing: ${late.filter(({ status }) => status === 200).length} of ${late.length} served, however late`);
  print(
    `bounded: some served: ${served.length > 0}, the others told to come back: ${
      refused.length === intime.length - served.length && refused.every(({ retryAfter }) => retryAfter === 1)
    }`,
  );
}

if (import.meta.main) await main();
