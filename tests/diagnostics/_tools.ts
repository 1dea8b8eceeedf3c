/** Shared by the tests of the diagnostics: events as lines of text, and the hook as a primitive calls it. */
import assert from "node:assert/strict";
import { hook, type Resource } from "../../lib/internal/hook.ts";
import {
  type DiagnosticEvent,
  type Finding,
  metrics,
  observe,
  watchdog,
  type WatchdogOptions,
} from "../../lib/diagnostics/mod.ts";
import { type FakeTime, withFakeTime } from "../_tools.ts";

/** Calls the hook as a primitive does; without effect while nothing is observed. */
export class Thing implements Resource {
  readonly kind: string;
  readonly name: string | undefined;
  readonly key: unknown;
  readonly sharedState: unknown;
  readonly noun: string;
  readonly isHeld: boolean;

  constructor(kind = "lock", name?: string, key?: unknown, sharedState?: unknown) {
    this.kind = kind;
    this.noun = kind === "key" ? "lock" : kind;
    this.isHeld = !["event", "condition", "rate-limiter"].includes(kind);
    this.name = name;
    this.key = key;
    if (sharedState !== undefined) this.sharedState = sharedState;
  }

  wait(call: object, permits = 1): void {
    hook?.wait(this, call, permits);
  }

  grant(call: object, permits = 1): void {
    hook?.grant(this, call, permits);
  }

  timeOut(call: object): void {
    hook?.giveUp(this, call, "timeout", 1);
  }

  refuse(call: object, permits = 1): void {
    hook?.giveUp(this, call, "full", permits);
  }

  failRenewal(): void {
    hook?.failRenewal(this);
  }

  release(call: object): void {
    hook?.release(this, call);
  }
}

/** An event and which it is. */
export type Seen = DiagnosticEvent & {
  readonly event: string;
  readonly waited?: number;
  readonly held?: number;
  readonly outcome?: string;
};

/** Everything that happens, until it is disposed of. */
export class Recording implements Disposable {
  readonly seen: Seen[] = [];
  readonly #observing: Disposable;

  constructor() {
    const keep = (event: string) => (details: DiagnosticEvent) => void this.seen.push({ ...details, event });
    this.#observing = observe({
      wait: keep("wait"),
      grant: keep("grant"),
      giveUp: keep("giveUp"),
      release: keep("release"),
    });
  }

  /** As in `wait lock orders`. */
  get lines(): string[] {
    return this.seen.map(({ event, kind, name, key, outcome }) =>
      [event, kind, name, key, outcome].filter((one) => one !== undefined).join(" ")
    );
  }

  [Symbol.dispose](): void {
    this.#observing[Symbol.dispose]();
  }
}

/** What the metrics measure, until it is disposed of. */
export class Measurements implements Disposable {
  /** The sum of a counter, or the last value of a histogram, as in `interlock.waiters lock orders`. */
  readonly values = new Map<string, number>();
  readonly #measuring: Disposable;

  constructor() {
    const instrument = (name: string) => {
      const keyOf = (attributes: object) => [name, ...Object.values(attributes)].join(" ");
      return {
        add: (by: number, of: object) => void this.values.set(keyOf(of), (this.values.get(keyOf(of)) ?? 0) + by),
        record: (value: number, of: object) => void this.values.set(keyOf(of), value),
      };
    };
    this.#measuring = metrics({
      createCounter: instrument,
      createUpDownCounter: instrument,
      createHistogram: instrument,
    });
  }

  [Symbol.dispose](): void {
    this.#measuring[Symbol.dispose]();
  }
}

/** Calls `fn` under a watchdog that keeps its findings, on a clock that is moved by hand. */
export function watched(
  fn: (findings: Finding[], time: FakeTime) => Promise<void>,
  options: WatchdogOptions = {},
): Promise<void> {
  return withFakeTime(async (time) => {
    const findings: Finding[] = [];
    const report = (message: string, finding: Finding) => {
      assert.equal(message, finding.message);
      findings.push(finding);
    };
    using _ = watchdog({ ...options, report });
    await fn(findings, time);
  });
}

export const kindsOf = (findings: readonly Finding[]) => findings.map(({ kind }) => kind);
