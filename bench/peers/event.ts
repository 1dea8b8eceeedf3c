/** Events of other packages. */
import { AsyncManualResetEvent } from "@esfx/async-manualresetevent";
import type { Flag } from "../_work.ts";

export const events: Readonly<Record<string, () => () => Flag>> = {
  "@esfx/async-manualresetevent": () => () => new AsyncManualResetEvent(),
};
