/** A version that is set keeps its stored layouts: builds of one version share their keys, and exclude each other. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { type Lease, RedisLock, RedisRateLimiter, RedisRwLock, RedisSemaphore } from "../../lib/redis/mod.ts";
import { keysOf, rateKeysOf } from "../../lib/redis/options.ts";
import { test } from "../_test.ts";
import { type FakeTime, Random, withFakeTime } from "../_tools.ts";
import { Network, NetworkClient, withoutChance } from "./model/_network.ts";

/** The keys of each version since it was set, and a hash of what it stored; a row that was released never changes. */
const KEYS: Readonly<Record<string, readonly [lock: string, rate: string, stored?: string]>> = {
  "0.3.0": ["p:lock:3:{a}", "p:rate:4:{a}"],
  "0.4.0": ["p:lock:3:{a}", "p:rate:7:{a}", "cd89509803cd6cf6"],
};

const { version } = JSON.parse(readFileSync(new URL("../../deno.json", import.meta.url), "utf8"));

test("stored layouts: they are those of the version in deno.json; another layout needs another minor version", () => {
  const present = [keysOf("p:", "lock", "a")[0], rateKeysOf("p:", "a")[0]];
  assert.deepEqual(
    present,
    KEYS[version]?.slice(0, 2),
    `raise the version ${version} of deno.json, and add a row to KEYS of tests/redis/layout_versions_test.ts`,
  );
  const rows = Object.entries(KEYS);
  assert.equal(rows.at(-1)![0], version);
  for (const [i, [next, keys]] of rows.slice(1).entries()) {
    const [before, earlier] = rows[i]!;
    const minor = (text: string) => text.split(".").slice(0, 2).join(".");
    if (keys.slice(0, 2).join() !== earlier.slice(0, 2).join()) assert.notEqual(minor(next), minor(before));
  }
});

/** What is stored while each class has holders, waiters or starts: its form, with ids and numbers left out. */
async function stored(time: FakeTime): Promise<string> {
  const network = new Network(new Random(1));
  const client = new NetworkClient(network);
  const options = { prefix: "p:", owner: "me" };
  const rates = { single: { limit: 3, interval: 500 }, bucket: { limit: 3, interval: 500, kind: "bucket" } } as const;
  const limiters = [[rates.single], [rates.bucket], [rates.single, rates.bucket]].map((budgets, i) =>
    new RedisRateLimiter(client, `rate ${i}`, budgets, options)
  );
  const { reader, writer } = new RedisRwLock(client, "a", options);
  const cancel = new AbortController();
  const waits = [
    ...[1, 2].map(() => new RedisLock(client, "a", options)),
    ...[1, 2].map(() => new RedisSemaphore(client, "a", 1, options)),
    ...[reader, writer, ...limiters, ...limiters],
  ].map((one): Promise<Lease | void> => one.acquire({ signal: cancel.signal }));
  for (const limiter of limiters) waits.push(limiter.acquire({ permits: 3, signal: cancel.signal }));
  await time.pass(100, 10);
  for (const limiter of limiters) await Promise.all([limiter.penalty(1), limiter.block(50), time.pass(100, 10)]);
  const [, entries] = JSON.parse(network.redis.toString());
  cancel.abort();
  const releases = waits.map(async (wait) => (await wait.catch(() => {}))?.release());
  await time.pass(60_000, 1000);
  await Promise.all(releases);
  const lines = JSON.stringify(entries, undefined, 1).replace(/[0-9a-z]{21}/g, "id")
    .replace(/\d+/g, ({ length }) => length < 10 ? "0" : `${length} digits`).split("\n");
  return lines.filter((line, i) => line.replace(/,$/, "") !== lines[i - 1]?.replace(/,$/, "")).join("\n");
}

test("stored layouts: what is stored changes only with the number of a layout", () =>
  withFakeTime((time) =>
    withoutChance(new Random(1), async () => {
      const text = await stored(time);
      const hash = createHash("sha256").update(text).digest("hex").slice(0, 16);
      const remedy =
        `Other data are stored: raise LAYOUT_VERSION (lib/redis/scripts/layout.ts) or RATE_LAYOUT (lib/redis/options.ts), so that ` +
        `processes with the earlier code keep their own. If ${version} was not released with that number yet, write the ` +
        `hash "${hash}" into its row of KEYS in tests/redis/layout_versions_test.ts. Now it is ${text}`;
      assert.ok(hash === KEYS[version]![2], remedy);
    })
  ));
