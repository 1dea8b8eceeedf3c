/** One process of the drain test, with a number of waiters. */
import process from "node:process";
import { visitAll } from "./_drain.ts";
import { locksOf, type Name } from "./_locks.ts";

const [name, url, count] = process.argv.slice(2);
const locks = await locksOf(name as Name, url!);
const all = visitAll(locks, Number(count));
console.log("ready");
console.log(JSON.stringify(await all));
locks.close();
process.exit();
