/**
 * `deno task size`: the size of imports in a page, minified and gzipped, against the limits; then of every class by itself,
 * which shows that a bundler drops the rest.
 */
import { gzipSync } from "node:zlib";
import process from "node:process";
import { buildSync } from "esbuild";
import * as module from "../mod.ts";

/** Bytes that a bundle of these imports has at most. */
export const LIMITS: Readonly<Record<string, number>> = {
  "{ Lock }": 4100,
  "{ RateLimiter }": 5820,
  "{ Pool }": 8950,
  "*": 31_000,
};

/** How many bytes `export IMPORTS from "@interlock/interlock"` comes to. */
export function size(imports: string): number {
  return gzipSync(bundle(imports), { level: 9 }).length;
}

/** The same before it is compressed. */
export function bundle(imports: string): Uint8Array {
  const { outputFiles } = buildSync({
    stdin: { contents: `export ${imports} from "./mod.ts";`, resolveDir: "." },
    bundle: true,
    minify: true,
    format: "esm",
    target: "es2022",
    write: false,
  });
  return outputFiles[0]!.contents;
}

if (import.meta.main) {
  const kB = (bytes: number) => `${(bytes / 1000).toFixed(2)} kB`;
  const sizes = Object.entries(LIMITS).map(([imports, limit]) => ({ imports, bytes: size(imports), limit }));
  for (const { imports, bytes, limit } of sizes) {
    console.log(`import ${imports.padEnd(20)} ${kB(bytes).padStart(8)} of at most ${kB(limit)}`);
  }
  console.log("\nOne at a time:");
  for (const name of Object.keys(module)) {
    console.log(`       ${name.padEnd(20)} ${kB(size(`{ ${name} }`)).padStart(8)}`);
  }
  process.exit(sizes.every(({ bytes, limit }) => bytes <= limit) ? 0 : 1);
}
