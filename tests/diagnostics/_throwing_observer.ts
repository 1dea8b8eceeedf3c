/** A program whose observer throws: the error must end it, and must not reach the code that uses the lock. */
import { observe } from "../../lib/diagnostics/mod.ts";
import { Thing } from "./_tools.ts";

let text = "";
observe({
  grant() {
    throw new Error("thrown by an observer");
  },
});
observe({ grant: () => void (text = "the other observer sees it") });
new Thing().grant({});
console.log("the lock's user goes on");
console.log(text);
