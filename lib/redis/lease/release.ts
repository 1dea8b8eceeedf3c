/**
 * The end of an id: a hold, a position in the queue, or the trace of a call whose answer never came. Invariant: a
 * release resolves to true only if it gave a hold back, and to false only if the server reported none. It rejects if
 * the deciding answer is missing.
 *
 * @module
 */
import { pause } from "../../internal/cancellation.ts";
import { explain, mayHaveRun, messageOf, NoAnswerError, UnknownOutcomeError, withoutArguments } from "../errors.ts";
import type { ResourceSpec } from "../resource_spec.ts";
import { within } from "../call/single_command.ts";
import type { Prior } from "../store/store.ts";
import { backoff, commandLimit, LEAST_LIMIT, LEAST_RELEASING, now } from "../times.ts";

/** Gives back a hold that would be trusted until the given time; tries until then, or for a minimum time. */
export async function release(spec: ResourceSpec, id: string, trustedUntil: number): Promise<boolean> {
  const { namespace: { store, store: { backend } }, what } = spec;
  const endsAt = Math.max(trustedUntil, now() + LEAST_RELEASING);
  const answers: Promise<Prior>[] = []; // the answer to any attempt counts, even if it is late
  let missingAnswer: unknown; // why an attempt that may have run has no answer
  for (let attempt = 0;; attempt++) {
    const { losses } = backend;
    try {
      const prior = await within(spec, limitOf(spec, endsAt), (command) => {
        const answer = store.release(spec, id, command, false, attempt > 0);
        answers.push(answer);
        return attempt === 0 ? answer : Promise.race([firstHeld(answers).catch(() => answer), answer]);
      });
      if (prior === "held") return true;
      // The client may have sent it again, so that the first run has no answer.
      if (backend.losses !== losses) {
        missingAnswer ??= new NoAnswerError("the connection was lost while the command was in flight");
      }
      break;
    } catch (error) {
      if (mayHaveRun(error)) missingAnswer ??= error;
      else if (!store.mayPass?.(error)) throw explain(`release ${what}`, error);
    }
    if (backend.closed || now() >= endsAt) break;
    await pause(backoff(attempt), store.closing);
  }
  if (missingAnswer === undefined) return false;
  const held = firstHeld(answers).catch(() => undefined);
  const rest = Math.max(0, endsAt - now());
  if (!backend.closed && await Promise.race([held, pause(rest, store.closing, true, held)])) return true;
  const reason = `the outcome is not known, because an answer is missing (${messageOf(missingAnswer)})`;
  throw new UnknownOutcomeError(`Cannot release ${what}: ${reason}`, { cause: withoutArguments(missingAnswer) });
}

/** Resolves once one of the answers shows that it gave the hold back, or rejects once none does. */
function firstHeld(answers: readonly Promise<Prior>[]): Promise<Prior> {
  return Promise.any(answers.map(async (answer) => {
    const prior = await answer;
    if (prior !== "held") throw prior;
    return prior;
  }));
}

/** Releases without a waiting caller, for one ttl. Without an answer, the hold or position expires. */
export async function releaseInBackground(spec: ResourceSpec, id: string): Promise<void> {
  const { namespace: { store }, settings: { ttl } } = spec;
  const endsAt = now() + ttl;
  for (let failures = 0; now() < endsAt; failures++) {
    try {
      await within(spec, limitOf(spec, endsAt), (command) => store.release(spec, id, command, true));
      return;
    } catch { /* Every refusal may pass, since rights, for example, may change. */ }
    if (store.backend.closed) return;
    await pause(backoff(failures), store.closing, false);
  }
}

/** The time for one attempt. The last one may end slightly later: in less time, silence proves nothing. */
function limitOf({ settings: { ttl } }: ResourceSpec, endsAt: number): number {
  const { release } = LEAST_LIMIT;
  return Math.max(release, Math.min(commandLimit(ttl, release), endsAt - now()));
}
