/** One process that starts calls within a limit shared with others: a number of tasks, each with a number of calls. */
import process from "node:process";
import { createInterface } from "node:readline";
import { clock } from "./_drain.ts";
import { type Limit, type RateName, rateOf } from "./_rates.ts";

export interface RateOrder extends Limit {
  readonly name: RateName;
  readonly url: string;
  readonly tasks: number;
  readonly calls: number;
}

/** Enough to compile what runs often. */
const WARM = 500;

const order = JSON.parse(process.argv[2]!) as RateOrder;
const { start, warm } = await rateOf(order.name, order.url, order);
await Promise.all(Array.from({ length: WARM }, warm));
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
console.log("ready");
await lines.next();
const starts: number[] = [];
await Promise.all(Array.from({ length: order.tasks }, async () => {
  for (let i = 0; i < order.calls; i++) {
    await start();
    starts.push(clock());
  }
}));
console.log(JSON.stringify(starts));
await lines.next(); // the others are done, too
process.exit();
