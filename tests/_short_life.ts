/** A program that imports this prints "kept alive" if it lives for 9 s: the wait for a warning after 10 s must not do that. */
import process from "node:process";

const began = performance.now();
process.once("exit", () => {
  if (performance.now() - began > 9000) console.log("kept alive");
});
