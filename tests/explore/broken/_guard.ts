/** Guards as the broken variants hand them out. */
import type { Guard } from "../../../mod.ts";

/** A guard that releases at most `releases` times. */
export function guardOf(giveBack: () => void, releases = 1): Guard {
  let left = releases;
  const release = () => {
    if (left-- > 0) giveBack();
  };
  return {
    get held() {
      return left > 0;
    },
    release,
    [Symbol.dispose]: release,
    [Symbol.asyncDispose]: () => Promise.resolve(release()),
  };
}
