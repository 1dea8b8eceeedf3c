/** Broken on purpose: things of two parts, of which `cancel` reaches one. */
import { KeyedSemaphore, RwLock, type WaitOptions } from "../../../mod.ts";

export function oneKeyCancelled() {
  const [red, blue] = [new KeyedSemaphore<string>(2), new KeyedSemaphore<string>(2)];
  return { at: (key: string) => (key === "red" ? red : blue).at(key), cancel: (reason: unknown) => red.cancel(reason) };
}

export function writersCancelled() {
  const { reader, writer } = new RwLock();
  const controller = new AbortController();
  return {
    reader,
    writer: {
      acquire: (options?: WaitOptions) => writer.acquire({ ...options, signal: controller.signal }),
      get waiting() {
        return writer.waiting;
      },
    },
    cancel: (reason: unknown) => controller.abort(reason),
  };
}
