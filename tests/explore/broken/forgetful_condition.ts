/** Broken on purpose: a notification is spent on a cancelled waiter. */
import { Condition, type WaitOptions } from "../../../mod.ts";

export class ForgetfulCondition extends Condition {
  #ghosts = 0;

  override wait(options?: WaitOptions): Promise<void> {
    return super.wait(options).catch((reason) => {
      this.#ghosts++;
      throw reason;
    });
  }

  override notify(n = 1): void {
    for (; n > 0; n--) {
      if (this.#ghosts > 0) this.#ghosts--;
      else super.notify();
    }
  }
}
