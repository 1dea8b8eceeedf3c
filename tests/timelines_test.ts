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
    // No diff: a picture is one line of 4 kB.
    const isSame = await picture(name) === kept.replaceAll("\r\n", "\n");
    assert.ok(isSame, `${pictureOf(name)} is another picture now; \`deno run -A scripts/timelines.ts\` draws it anew`);
  });
}

const read = (file: string) => readFileSync(new URL(`../${file}`, import.meta.url), "utf8");

test("timelines: the pages describe each picture by its caption", () => {
  const pages = ["README.md", "docs/primitives.md", "docs/pool-and-rate-limits.md"].map(read).join("");
  const found = [...pages.matchAll(/!\[(.*)\]\((?:docs\/)?(timelines\/.*)\)/g)].map(([, words, path]) =>
    `${path}: ${words}`
  );
  const wanted = Object.entries(scenes).map(([name, { caption }]) =>
    `${pictureOf(name).replace("docs/", "")}: ${caption}`
  );
  assert.deepEqual(found.filter((one) => !wanted.includes(one)), []);
  assert.ok(found.length > 15);
  assert.deepEqual(Object.values(scenes).filter(({ caption }) => caption.length > 52), [], "wider than the picture");
});

test("timelines: the playground has every primitive", () => {
  const primitives = Object.entries(module).filter(([, { prototype }]) => !(prototype instanceof Error));
  const missing = primitives.map(([name]) => name).filter((name) => !(name in scenes));
  const unknown = Object.keys(scenes).filter((name) => !primitives.some(([primitive]) => primitive === name));
  assert.deepEqual(
    [missing, unknown],
    [[], []],
    `docs/playground/scenes.ts lacks a scene of: ${missing}; has scenes of no primitive: ${unknown}. Then ` +
      "`deno run -A scripts/timelines.ts` draws docs/timelines/",
  );
});
