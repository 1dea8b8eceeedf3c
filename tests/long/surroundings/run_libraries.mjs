/** Cancels calls of HTTP clients and other libraries inside of a pool, and prints the outcome as JSON. */
import { Pool } from "../../../npm/mod.js";
import { cancelAll } from "./libraries.js";

console.log(JSON.stringify(await cancelAll(Pool)));
process.exit(0);
