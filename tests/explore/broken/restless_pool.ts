/** Broken on purpose: a limit of 0 does not pause it. */
import { Pool } from "../../../mod.ts";

export class RestlessPool extends Pool {
  override get limit(): number {
    return super.limit;
  }

  override set limit(limit: number) {
    super.limit = Math.max(limit, 1);
  }
}
