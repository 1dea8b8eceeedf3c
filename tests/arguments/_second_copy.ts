/** A second copy of the module in one process, as two versions in node_modules are. */
import { Buffer } from "node:buffer";
import { buildSync } from "esbuild";

export function secondCopy(): Promise<typeof import("../../mod.ts")> {
  return bundle("./mod.ts");
}

export function secondRedisCopy(): Promise<typeof import("../../lib/redis/mod.ts")> {
  return bundle("./lib/redis/mod.ts");
}

async function bundle<T>(entry: string): Promise<T> {
  const { outputFiles } = buildSync({
    entryPoints: [entry],
    bundle: true,
    format: "esm",
    target: "es2022",
    write: false,
  });
  return await import(`data:text/javascript;base64,${Buffer.from(outputFiles[0]!.contents).toString("base64")}`);
}
