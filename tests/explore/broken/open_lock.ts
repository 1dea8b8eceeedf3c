/** Broken on purpose: its cancellation forgets to close it, and leaves the waiting calls where they are. */
import { Lock } from "../../../mod.ts";

export class OpenLock extends Lock {
  override cancel(): void {}
}
