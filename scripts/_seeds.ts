/** `deno task test:deep --minutes N`: the random tests with new seeds. */
import process from "node:process";
import { run } from "./_run.ts";
import { randomFiles } from "./_test_files.ts";

/** Prints each seed that fails, and ends the process. Such a seed belongs into the list of tests/_random.ts. */
export async function newSeeds(minutes: number): Promise<never> {
  const end = performance.now() + 60_000 * minutes;
  const failed: number[] = [];
  let tried = 0;
  while (performance.now() < end) {
    const seed = Math.floor(Math.random() * 2 ** 31);
    const args = ["test", "-A", "--no-check", "--parallel", "--quiet", "--reporter=dot", ...randomFiles()];
    const { status } = await run(Deno.execPath(), args, { env: { SEED: String(seed) }, limit: 600 });
    tried++;
    if (status !== 0) failed.push(seed);
    console.log(`\nSEED=${seed}: ${status === 0 ? "passed" : "FAILED"}`);
  }
  console.log(
    `\n${tried} seeds, ${failed.length} failed${failed.map((seed) => `\nSEED=${seed} deno task test FILE`).join("")}`,
  );
  process.exit(failed.length === 0 && tried > 0 ? 0 : 1);
}
