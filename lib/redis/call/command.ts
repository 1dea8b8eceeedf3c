/**
 * The limits of single commands: no client bounds the wait for an answer itself. A command without an answer may have
 * run, or may still run.
 *
 * @module
 */
import { onCancel } from "../../internal/cancellation.ts";
import { explain } from "../errors.ts";
import type { Store } from "../store/store.ts";
import { SINGLE_COMMAND } from "../times.ts";

/** Resolves to the answer. Rejects after `ms` milliseconds without one, or once the client is closed. */
export function within<T>(store: Store, ms: number, answer: Promise<T>, keepsAlive = true): Promise<T> {
  return new Promise((resolve, reject) => {
    const limit = onCancel({ signal: store.closing, timeout: ms, keepsAlive }, () => reject(store.silence(ms)));
    answer.then((value) => {
      limit.end();
      resolve(value);
    }, (error) => {
      limit.end();
      reject(error);
    });
  });
}

/** Resolves to the answer to a command that is not tried again. An error says that the act has failed. */
export async function command<T>(act: string, store: Store, answer: Promise<T>, ms = SINGLE_COMMAND): Promise<T> {
  try {
    return await within(store, ms, answer);
  } catch (error) {
    throw explain(act, error);
  }
}

/** Resolves after `ms` milliseconds, or once the client is closed. */
export function pauseWith(store: Store, ms: number, keepsAlive = true): Promise<void> {
  return new Promise((resolve) => {
    onCancel({ signal: store.closing, timeout: ms, keepsAlive }, () => resolve());
  });
}
