/** A version that is set keeps its stored layouts: builds of one version share their keys, and exclude each other. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { keysOf, rateKeysOf } from "../../lib/redis/options.ts";
import { test } from "../_test.ts";

/** The keys of each version since it was set; a row that was released never changes. */
const KEYS: Readonly<Record<string, readonly [lock: string, rate: string]>> = {
  "0.3.0": ["p:lock:3:{a}", "p:rate:4:{a}"],
  "0.4.0": ["p:lock:3:{a}", "p:rate:5:{a}"],
};

test("stored layouts: they are those of the version in deno.json; another layout needs another version", () => {
  const { version } = JSON.parse(readFileSync(new URL("../../deno.json", import.meta.url), "utf8"));
  const present = [keysOf("p:", "lock", "a")[0], rateKeysOf("p:", "a")[0]];
  assert.deepEqual(present, KEYS[version], `raise the version ${version} of deno.json, and add a row here`);
});

test("stored layouts: the newest row is that of deno.json, and a version that changes a layout raises its minor number", () => {
  const { version } = JSON.parse(readFileSync(new URL("../../deno.json", import.meta.url), "utf8"));
  const rows = Object.entries(KEYS);
  assert.equal(rows.at(-1)![0], version);
  for (const [i, [next, keys]] of rows.slice(1).entries()) {
    const [before, earlier] = rows[i]!;
    const minor = (text: string) => text.split(".").slice(0, 2).join(".");
    if (keys.join() !== earlier.join()) assert.notEqual(minor(next), minor(before));
  }
});
