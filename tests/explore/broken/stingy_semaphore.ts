/** Broken on purpose: its limit falls, and never rises again. */
import { BoundedSemaphore } from "../../../mod.ts";

export class StingySemaphore extends BoundedSemaphore {
  override get limit(): number {
    return super.limit;
  }

  override set limit(limit: number) {
    super.limit = Math.min(limit, super.limit);
  }
}
