/** A gateway to a language model: requests and tokens a minute for each API key, which all of its processes share. */
import { type Backend, RedisRateLimiter } from "@interlock/interlock/redis";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { startScript } from "./shared/processes.ts";
import { connect, start } from "./shared/redis.ts";

const MINUTE = 60_000;
const BUDGETS = [{ limit: 6, interval: MINUTE }, { limit: 1000, interval: MINUTE, kind: "bucket" }] as const;
const ESTIMATE = 100; // tokens of an answer

/** The model, which answers token by token. In a real program this is a `fetch`. */
async function* complete(prompt: string): AsyncGenerator<string> {
  for (let i = 0; i < 50; i++) yield await Promise.resolve(`${prompt} `);
}

function gateway(backend: Backend): (request: Request) => Promise<Response> {
  const limits = new RedisRateLimiter(backend, "model", BUDGETS);
  return async (request) => {
    const limit = limits.at(request.headers.get("Authorization") ?? "");
    const permits = [1, ESTIMATE];
    if (await limit.tryAcquire(permits)) return new Response(stream(settled(complete(await request.text()), limit)));
    const seconds = Math.max(1, Math.ceil(await limit.retryAfter(permits) / 1000));
    return new Response("too many requests", { status: 429, headers: { "Retry-After": `${seconds}` } });
  };
}

/** Corrects the estimate at the end of an answer: also if it fails, or if its client leaves. */
async function* settled(answer: AsyncIterable<string>, limit: Pick<RedisRateLimiter, "reward" | "penalty">) {
  let used = 0;
  try {
    for await (const token of answer) {
      used++;
      yield token;
    }
  } finally {
    if (used < ESTIMATE) await limit.reward([0, ESTIMATE - used]);
    else await limit.penalty([0, used - ESTIMATE]);
  }
}

function stream(tokens: AsyncGenerator<string>): ReadableStream<Uint8Array> {
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await tokens.next();
      if (done) controller.close();
      else controller.enqueue(new TextEncoder().encode(value));
    },
    cancel: async () => void (await tokens.return(undefined)),
  });
}

/** One process of the gateway, with the requests that reach it; the client of the last one leaves early. */
async function serve(url: string): Promise<void> {
  const { backend, close } = await connect(url);
  const handler = gateway(backend);
  await Promise.all([1, 2, 3, 4].map(async (i) => {
    const headers = { Authorization: "alice" };
    const response = await handler(new Request("http://model/", { method: "POST", body: "hello", headers }));
    if (i < 4) await response.text();
    else await response.body!.cancel();
    console.log(`${response.status} ${response.headers.get("Retry-After")}`);
  }));
  close();
}

export async function main(print: (line: string) => void = console.log, url = process.env.REDIS_URL) {
  const responses: string[] = [];
  await Promise.all([1, 2].map(() =>
    new Promise((resolve) => {
      const script = fileURLToPath(import.meta.url);
      startScript(script, ["serve", url!], (line) => responses.push(line)).once("close", resolve);
    })
  ));
  const refused = responses.filter((line) => line.startsWith("429 "));
  print(`two processes, ${responses.length} requests, ${responses.length - refused.length} answers`);
  const seconds = refused.map((line) => Number(line.split(" ")[1]));
  print(`429 with a Retry-After of up to a minute: ${seconds.every((each) => each > 0 && each <= 60)}`);
  const { backend, close } = await connect(url);
  const alice = new RedisRateLimiter(backend, "model", BUDGETS).at("alice");
  print(`6 answers took 50 tokens each, not 100: ${await alice.tryAcquire([0, 700])}`);
  close();
}

if (process.argv[2] === "serve") await serve(process.argv[3]!);
else if (import.meta.main) await start(main);
