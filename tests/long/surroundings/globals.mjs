/** Replaces Promise and timers after the package was loaded, by the library that is named, and prints what works then. */
import assert from "node:assert/strict";
import * as interlock from "@interlock/interlock";
import { exercise } from "./exercise.mjs";

const native = Promise;
const [, , library] = process.argv;
const replaced = {
  "zone.js": () => import("zone.js"),
  bluebird: async () => globalThis.Promise = (await import("bluebird")).default,
};
await replaced[library]();
assert.notEqual(Promise, native);

console.log(JSON.stringify(await exercise(interlock)));
