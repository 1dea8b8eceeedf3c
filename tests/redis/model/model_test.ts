/** The scripts, explored: the quick version. `deno task explore:redis` goes deeper. */
import assert from "node:assert/strict";
import type { Family } from "../../../lib/redis/internal/resource_spec.ts";
import { type Script, script } from "../../../lib/redis/scripts/script.ts";
import { test } from "../../_test.ts";
import { explore, type Model } from "./_model.ts";
import { models } from "./_models.ts";

for (const [name, model] of Object.entries(models(4, 1))) {
  test(`model: ${name}`, () => {
    const states = explore(model);
    assert.ok(states > 100, `${states} states`);
  });
}

/** Faults put into the scripts, which the exploration must find. */
const [lock, semaphore] = Object.values(models(4, 1)) as [Model, Model];
const broken: [what: string, model: Model, text: string, instead: string, violation: RegExp][] = [
  ["a newcomer overtakes", lock, "used == 0 and not queued and", "used == 0 and", /was passed over/],
  ["tokens do not grow", lock, "last >= now and last + 1 or now", "now", /was given to|is no larger/],
  ["the limit is not kept", semaphore, "if used + weight > limit then break end", "", /hold together/],
  ["the head is not served", lock, "while ids[i] and used < limit do", "while false do", /waits forever/],
];
for (const [what, model, text, instead, violation] of broken) {
  test(`model: finds that ${what}`, () => {
    const change = ({ source }: Script) => script(source.replace(text, instead));
    const { acquire, release } = model.family;
    assert.ok(acquire.source.includes(text));
    const family: Family = { ...model.family, acquire: change(acquire), release: change(release) };
    assert.throws(() => explore({ ...model, family }), violation);
  });
}
