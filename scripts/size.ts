/**
 * The first part of `deno task size`: the size of imports in a page, minified and gzipped, against the limits; then of
 * every class by itself, which shows that a bundler drops the rest.
 */
import { gzipSync } from "node:zlib";
import process from "node:process";
import { buildSync } from "esbuild";
import * as module from "../mod.ts";

/**
 * Bytes that a bundle of these imports has at most: about 100 more than it had when the limit was set, so that a mended fault
 * fits. Whoever needs more first looks for what to take out (`deno task size` shows each class). If it is worth its bytes,
 * the limit becomes the new size and 100 bytes, rounded up to 50, and the commit says what they buy.
 */
export const LIMITS: Readonly<Record<string, number>> = {
  "{ Lock }": 4150,
  "{ RateLimiter }": 6500,
  "{ Pool }": 9100,
  "*": 32_250,
};

/** What is wrong with a size, if it is. */
export function excess(imports: string, bytes: number): string | undefined {
  const limit = LIMITS[imports]!;
  if (bytes <= limit) return undefined;
  const where = `${bytes - limit} over its limit in scripts/size.ts, whose comment says when to raise it`;
  return `import ${imports} is ${bytes} bytes, ${where}; \`deno task size\` shows what each class costs`;
}

/** How many bytes `export IMPORTS from "@interlock/interlock"` comes to, from the source or a package that is installed. */
export function size(imports: string, from?: string, folder?: string): number {
  return gzipSync(bundle(imports, from, folder), { level: 9 }).length;
}

/** The same before it is compressed. */
export function bundle(imports: string, from = "./mod.ts", folder = "."): Uint8Array {
  const { outputFiles } = buildSync({
    stdin: { contents: `export ${imports} from "${from}";`, resolveDir: folder },
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
