/**
 * Giving back by id: a hold, a place in line, or whatever a call whose answer never came may have left. Invariant: it
 * ends when Redis has answered at a time at which nothing of this id can run any more, or when whatever there was has
 * run out by itself.
 *
 * @module
 */
import { explain } from "../errors.ts";
import type { Link } from "./connection.ts";
import type { Target } from "./resource_spec.ts";
import { Alarm, now } from "./clock.ts";

/** What Redis knew of an id. */
export type Was = "held" | "waiting" | "unknown";

export interface ForgetOptions {
  /** For error messages: "release lock "a"". */
  readonly act: string;
  /** Local time after which there is nothing left to give back. */
  readonly until: number;
  /** Server time in microseconds until when an earlier command of this id may still run; 0 if there is none. */
  readonly stray: number;
}

/**
 * Tells Redis to forget an id. "unknown" also where nobody could say in time; rejects where Redis refuses, unless that is
 * hoped to pass.
 */
export async function forget(
  link: Link,
  target: Target,
  id: string,
  options: ForgetOptions,
  hopeful = false,
): Promise<Was> {
  for (let attempt = 0;; attempt++) {
    const limit = limitOf(target, options.until);
    try {
      const was = await release(link, target, id, limit);
      const left = options.stray - link.serverTime(now());
      if (left >= 0) void forgetStray(link, target, id, left / 1000, options);
      return was;
    } catch (error) {
      if (link.closed || !(hopeful || link.mayPass(error))) throw explain(options.act, error);
      if (now() >= options.until) return "unknown";
      await pause(link, Math.min(25 * 2 ** attempt, 1000, Math.max(1, options.until - now())));
    }
  }
}

/** The same, for nobody who waits for the answer. */
export function forgetInBackground(link: Link, target: Target, id: string, options: ForgetOptions): void {
  forget(link, target, id, options, true).catch(() => {
    // The client is closed: what there was ends with its time.
  });
}

/** Once more, when a command that nobody has an answer to would be refused as too late. */
async function forgetStray(link: Link, target: Target, id: string, ms: number, options: ForgetOptions) {
  await pause(link, ms + 50);
  forgetInBackground(link, target, id, { ...options, until: now() + target.settings.ttl });
}

/** Gives back what `id` has, or what anybody has if `mode` is "force", and lets in all who fit then. */
export async function release(
  link: Link,
  target: Target,
  id: string,
  limit: number,
  mode: "" | "force" | "serve" = "",
): Promise<Was> {
  const { family, keys, settings } = target;
  let first: Was | undefined;
  for (;;) {
    const args = [id, String(settings.retention), mode];
    const [code, time, more] = await link.run(family.release, keys, args, limit) as [unknown, unknown, unknown];
    link.sawTime(Number(time));
    first ??= Number(code) === 1 ? "held" : Number(code) === 2 ? "waiting" : "unknown";
    if (Number(more) !== 1) return first;
    mode = "serve"; // so many were granted that the rest is left to another run
  }
}

function limitOf(target: Target, until: number): number {
  const usual = Math.min(Math.max(target.settings.ttl / 3, 250), 5000);
  return Math.max(Math.min(usual, until - now()), 10);
}

/** Does not keep the process alive, and ends early when the client is closed. */
function pause(link: Link, ms: number): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      alarm.clear();
      off();
      resolve();
    };
    const alarm = new Alarm(end);
    const off = link.onClose(end);
    alarm.set(now() + ms);
  });
}
