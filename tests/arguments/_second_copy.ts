/** A second copy of the module in one process, as two versions in node_modules are. */
import { Buffer } from "node:buffer";
import { buildSync } from "esbuild";

export async function secondCopy(): Promise<typeof import("../../mod.ts")> {
  const { outputFiles } = buildSync({
    entryPoints: ["./mod.ts"],
    bundle: true,
    format: "esm",
    target: "es2022",
    write: false,
  });
  return await import(`data:text/javascript;base64,${Buffer.from(outputFiles[0]!.contents).toString("base64")}`);
}
