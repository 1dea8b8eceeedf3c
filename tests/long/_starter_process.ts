/**
 * A process that starts as much as a rate limit allows, with 10 calls at a time, until its input ends. It prints each
 * turn, as the server has given it, and how long the call waited.
 */
import process from "node:process";
import { RedisRateLimiter } from "../../lib/redis/mod.ts";
import { namespaceOf } from "../../lib/redis/namespace.ts";
import { connectNode } from "../redis/_clients.ts";

const [url, budgets, permits] = process.argv.slice(2) as [string, string, string];
const { backend, close } = await connectNode(url);
const { rates } = namespaceOf(backend, "interlock:").store;
const { start } = rates;
const turns: number[] = [];
rates.start = async (request, command) => {
  const answer = await start.call(rates, request, command);
  if (answer.number !== undefined) turns.push(answer.number);
  return answer;
};
const limiter = new RedisRateLimiter(backend, "crawl", JSON.parse(budgets));
let [over, calls, started] = [false, 0, 0];
process.stdin.on("data", () => {}).on("end", () => over = true);
await Promise.all(Array.from({ length: 10 }, async () => {
  while (!over) {
    const [call, begun] = [calls++, performance.now()];
    await limiter.acquire({ permits: JSON.parse(permits) });
    const order = call === started++ ? "in order" : "not in order";
    console.log(`${turns[call]} ${Math.round(performance.now() - begun)} ${order}`);
  }
}));
await close();
process.exit();
