/** Every public class has a row in a list of kinds, works as its row says, and is in the tests that no row can drive. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import * as redis from "../../lib/redis/mod.ts";
import * as web from "../../lib/web/mod.ts";
import * as local from "../../mod.ts";
import { Ledger } from "../diagnostics/_ledger.ts";
import { Recording } from "../diagnostics/_tools.ts";
import { test } from "../_test.ts";
import { flushMicrotasks } from "../_tools.ts";
import { OwnLockManager } from "../web/_lock_manager.ts";
import { exercise } from "./exercise.ts";
import type { Kinds } from "./kind.ts";
import { localKinds } from "./local.ts";
import { redisKinds } from "./redis.ts";
import { webKinds } from "./web.ts";

/** What names each class beside its row: a file, or a folder. */
const LISTS: Readonly<Record<string, { module: object; kinds: Kinds; named: Readonly<Record<string, string>> }>> = {
  "tests/kinds/local.ts": {
    module: local,
    kinds: localKinds,
    named: {
      "tests/types_test.ts": "the types of its members",
      "tests/consumer/local.ts": "a use of it in a user's project",
      "tests/internal/show_test.ts": "what console.log shows of it",
      "tests/explore": "a program, so that all of its schedules are run",
      "tests/acting_walker_test.ts tests/acting_work_walker_test.ts tests/shutdown/acting_walker_test.ts":
        "an act of a random walk",
      "docs/primitives.md docs/pool-and-rate-limits.md docs/shutdown.md": "a section",
    },
  },
  "tests/kinds/redis.ts": {
    module: redis,
    kinds: redisKinds,
    named: {
      "tests/types_test.ts": "the types of its members",
      "tests/consumer/redis.ts": "a use of it in a user's project",
      "tests/redis/show_test.ts": "what console.log shows of it",
      "tests/redis/acting_walker_test.ts": "an act of a random walk",
      "docs/redis.md": "a section",
    },
  },
  "tests/kinds/web.ts": {
    module: web,
    kinds: webKinds,
    named: {
      "tests/consumer/web.ts": "a use of it in a user's project",
      "tests/web/acting_walker_test.ts": "an act of a random walk",
      "docs/web.md": "a section",
    },
  },
};

/** Where one is not named, and why. */
const LEFT_OUT: Readonly<Record<string, string>> = {
  "RateLimiter tests/explore": "tests/rate_walker_test.ts compares each step with a model",
  "KeyedRateLimiter tests/explore": "tests/rate_walker_test.ts compares each step with a model",
  "Queue tests/explore": "tests/queue_walker_test.ts compares each step with a model",
  "Pool tests/explore": "tests/pool/walker_test.ts walks, tests/pool/priority_test.ts compares with a sorted list",
  "TaskGroup tests/explore": "tests/asyncio/ compares each move with asyncio's",
  "GracefulShutdown tests/explore": "its steps take real time; tests/shutdown/acting_walker_test.ts walks",
  "TimeoutLock tests/acting_walker_test.ts": "a Lock with a default",
};

/** The public classes of a module; its functions have no row. */
function classesOf(module: object): string[] {
  return Object.entries(module).filter(([name, value]) =>
    /^class\b/.test(Function.prototype.toString.call(value)) && !name.endsWith("Error")
  ).map(([name]) => name);
}

function textOf(paths: string): string {
  return paths.split(" ").map((path) => {
    const url = new URL(`../../${path}`, import.meta.url);
    if (/\.\w+$/.test(path)) return readFileSync(url, "utf8");
    const files = readdirSync(fileURLToPath(url)).filter((file) => file.endsWith(".ts"));
    return files.map((file) => readFileSync(new URL(`../../${path}/${file}`, import.meta.url), "utf8")).join("\n");
  }).join("\n");
}

test("kinds: every public class has a row, and is named in every test and page that has no rows", () => {
  const missing = Object.entries(LISTS).flatMap(([list, { module, kinds, named }]) => [
    ...classesOf(module).filter((name) => !(name in kinds)).map((name) =>
      `${name}: add a row to ${list} (how to make it, its calls that wait, its invariants)`
    ),
    ...classesOf(module).flatMap((name) =>
      Object.entries(named)
        .filter(([path]) => !new RegExp(`\\b${name}\\b`).test(textOf(path)))
        .filter(([path]) => !path.split(" ").some((one) => `${name} ${one}` in LEFT_OUT))
        .map(([path, what]) => `${name}: add to ${path.replaceAll(" ", " or ")} ${what}`)
    ),
  ]);
  assert.deepEqual(missing, []);
});

const needs = { backend: redis.memoryBackend(), locks: new OwnLockManager() };

/** Those whose waits are not all reported: the platform says late who waits, and a join is no wait for a place. */
const UNSEEN = /^Web|^TaskGroup$/;

for (const kinds of Object.values(LISTS).map(({ kinds }) => kinds)) {
  for (const [name, { make, calls, sound, neverHeld, hasName }] of Object.entries(kinds)) {
    const fresh = () => make(hasName === false ? undefined : { name: "orders" }, needs);
    for (const method of Object.keys(calls(fresh()))) {
      test(`kinds: ${name}.${method}: three wait, one is aborted and one timed out`, async () => {
        using ledger = new Ledger();
        using recording = new Recording();
        const thing = fresh();
        const call = calls(thing)[method]!;
        await exercise(call);
        await flushMicrotasks();
        if (call.waiting !== undefined) assert.equal(call.waiting(), 0);
        sound?.(thing);
        if (name === "KeyedRateLimiter") ledger.assertSound(); // its events are of the kind key, which others hold
        else ledger.assertSettled();
        const { seen } = recording;
        if (neverHeld !== undefined) assert.ok(seen.some(({ kind }) => kind === neverHeld));
        if (hasName !== false) assert.deepEqual([...new Set(seen.map(({ name }) => name))], ["orders"]);
        if (call.block === undefined || UNSEEN.test(name)) return;
        const count = (what: string) => seen.filter(({ event, outcome }) => (outcome ?? event) === what).length;
        assert.ok(count("wait") >= 5, `${count("wait")} waits`); // of a rate, the first may have its start already
        assert.equal(count("timeout"), 1);
        assert.ok([1, 2].includes(count("aborted"))); // an abort after the grant changes nothing
      });
    }
  }
}
