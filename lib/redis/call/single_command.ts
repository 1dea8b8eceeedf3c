/**
 * One command about a resource that belongs to no call in a queue.
 *
 * @module
 */
import { explain } from "../errors.ts";
import type { CallSpec } from "../resource_spec.ts";
import { SentCommand } from "../store/commands.ts";
import { LONGEST_COMMAND } from "../times.ts";

type Send<T> = (command: SentCommand) => Promise<T>;

/** Sends a command with the limit. Rejects if the command counts as unanswered. */
export function within<T>({ namespace: { store } }: CallSpec, limit: number, send: Send<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    send(new SentCommand(limit, { unanswered: ({ at }) => reject(store.silence?.(at)) })).then(resolve, reject);
  });
}

/** Sends a command, and describes its failure. */
export function sendSingle<T>(spec: CallSpec, operation: string, send: Send<T>, limit = LONGEST_COMMAND): Promise<T> {
  return within(spec, limit, send).catch((error) => Promise.reject(explain(operation, error)));
}
