/** The README's pictures are what the module does now: `deno run -A scripts/timelines.ts` draws them anew. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { scenes } from "../docs/playground/scenes.ts";
import * as module from "../mod.ts";
import { picture, pictureOf } from "../scripts/timelines.ts";
import { test } from "./_test.ts";

for (const name of Object.keys(scenes)) {
  test(`timelines: ${name}'s picture is what happens`, async () => {
    const kept = readFileSync(new URL(`../${pictureOf(name)}`, import.meta.url), "utf8");
    assert.equal(await picture(name), kept.replaceAll("\r\n", "\n"));
  });
}

test("timelines: the playground has every primitive", () => {
  const primitives = Object.entries(module).filter(([, { prototype }]) => !(prototype instanceof Error));
  assert.deepEqual(primitives.map(([name]) => name).sort(), Object.keys(scenes).sort());
});
