/** The entry points, by their names in `exports` of deno.json. */
import { readFileSync } from "node:fs";

const { exports } = JSON.parse(readFileSync(new URL("../deno.json", import.meta.url), "utf8")) as {
  exports: Record<string, string>;
};

/** As in `[".", "mod.ts"]`. */
export const entries: readonly (readonly [name: string, file: string])[] = Object.entries(exports).map(
  ([name, path]) => [name, path.replace(/^\.\//, "")],
);
