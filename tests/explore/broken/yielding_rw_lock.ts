/** Broken on purpose: a writer that becomes a reader lets go of the lock in between, and a waiting writer comes in. */
import { RwLock, type WaitOptions } from "../../../mod.ts";

export function yieldingRwLock() {
  const { reader, writer } = new RwLock();
  const acquire = async (options?: WaitOptions) => {
    const guard = await writer.acquire(options);
    const release = () => guard.release();
    const downgrade = () => {
      release();
      return reader.tryAcquire() ?? guard;
    };
    return { release, downgrade };
  };
  return {
    reader,
    writer: {
      acquire,
      get waiting() {
        return writer.waiting;
      },
    },
  };
}
