/** `deno task setup --long`: everything that the long tests need and the everyday set-up does not install. */
import { install as installFrameworks } from "../shutdown/frameworks/install.ts";
import { program, type ProgramName } from "../shutdown/runtimes.ts";
import { install as installSurroundings } from "./surroundings/install.ts";

for (const name of ["deno", "node", "node20", "bun"] satisfies ProgramName[]) {
  console.log(`${name}: ${await program(name)}`);
}
installSurroundings();
installFrameworks();
