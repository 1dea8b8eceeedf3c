/** Broken on purpose: of several failures, all but the first are forgotten. */
import { TaskGroup, type WaitOptions } from "../../../mod.ts";

export class ForgetfulGroup extends TaskGroup {
  override async join(options?: WaitOptions): Promise<void> {
    try {
      await super.join(options);
    } catch (error) {
      throw error instanceof AggregateError ? error.errors[0] : error;
    }
  }
}
