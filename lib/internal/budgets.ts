/**
 * The budgets of a rate limiter, for one or many keys.
 *
 * @module
 */
import type { MaxWaitingOptions } from "../types.ts";
import { checkInteger, checkNotPromise, must, type QueueOptions, readQueueOptions } from "./check.ts";
import type { RateWindow } from "./start_log.ts";

/** The settable numbers of a budget. */
export class BudgetNumbers {
  readonly #window: RateWindow;
  readonly #onChange: () => void;

  constructor(window: RateWindow, onChange: () => void) {
    this.#window = window;
    this.#onChange = onChange;
  }

  get limit(): number {
    return this.#window.limit;
  }

  set limit(limit: number) {
    checkInteger(limit, "limit", 1);
    this.#window.limit = limit;
    this.#onChange();
  }

  get interval(): number {
    return this.#window.interval;
  }

  set interval(interval: number) {
    checkInterval(interval, "interval");
    this.#window.interval = interval;
    this.#onChange();
  }
}

/** Reads and checks the arguments of a limiter's constructor. */
export function readBudgets(args: readonly unknown[]): QueueOptions & { readonly windows: RateWindow[] } {
  const [first, second, third] = args;
  const isList = typeof first === "object";
  const options = (isList ? second : third) as MaxWaitingOptions | undefined;
  const windows = isList ? readList(first) : [readWindow(first, second, "")];
  return { windows, ...readQueueOptions(options) };
}

function readList(list: unknown): RateWindow[] {
  checkNotPromise(list, "budgets");
  must(Array.isArray(list), "budgets", "be a list of objects with a limit and an interval", list);
  checkInteger(list.length, "budgets.length", 1);
  return Array.from(list as readonly (Partial<RateWindow> | undefined)[], (budget, i) => {
    must(typeof budget === "object" && budget !== null, `budgets[${i}]`, "be an object", budget);
    return readWindow(budget.limit, budget.interval, `budgets[${i}].`);
  });
}

function readWindow(limit: unknown, interval: unknown, where: string): RateWindow {
  checkInteger(limit, `${where}limit`, 1);
  checkInterval(interval, `${where}interval`);
  return { limit, interval };
}

function checkInterval(interval: unknown, name: string): asserts interval is number {
  must(typeof interval === "number", name, "be a number of milliseconds", interval);
  must(interval > 0 && interval < Infinity, name, "be a finite number of milliseconds above 0", interval, RangeError);
}
