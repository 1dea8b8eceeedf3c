/**
 * `deno run -A scripts/timelines.ts`: the playground's scenes as pictures for the README and the guide, in
 * docs/timelines/. The real module runs, by a clock that is moved by hand, so the same code gives the same pictures.
 * With --phone, it draws them in the width of a phone, for the site.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import process from "node:process";
import { setImmediate } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { PICTURE, scenes } from "../docs/playground/scenes.ts";
import { Stage } from "../docs/playground/stage.ts";
import { draw } from "../lib/dashboard/timeline.ts";
import { FakeTime } from "../tests/_tools.ts";

/** Where the picture of a primitive is. */
export function pictureOf(name: string): string {
  return `docs/timelines/${name.replace(/(?<=[a-z])[A-Z]/g, "_$&").toLowerCase()}.svg`;
}

/** The picture of one scene. Most columns of text are wider than 600 pixels. */
export async function picture(name: string, width = 600): Promise<string> {
  const time = new FakeTime();
  try {
    const scene = scenes[name]!;
    const stage = new Stage({ ...PICTURE, ...scene.picture });
    let over = false;
    const playing = scene.play(stage).finally(() => over = true);
    for (let i = 0; !over && i < 2000; i++) {
      // Bodies of answers travel through streams, which take turns of the event loop.
      for (let turn = 0; turn < 3; turn++) await setImmediate();
      time.advance(5);
    }
    await playing;
    const end = Math.max(...stage.lanes.flatMap((lane) => lane.marks.map(({ at }) => at)));
    const { caption, dots } = scene;
    return draw({ title: name, caption, lanes: stage.lanes, now: end, span: 0, width, dots }) + "\n";
  } finally {
    time.restore();
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const isPhone = process.argv.includes("--phone");
  if (isPhone) mkdirSync("docs/timelines/phone", { recursive: true });
  for (const name of Object.keys(scenes)) {
    const path = isPhone ? pictureOf(name).replace("timelines/", "timelines/phone/") : pictureOf(name);
    writeFileSync(path, await picture(name, isPhone ? 360 : undefined));
  }
}
