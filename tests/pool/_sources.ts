/** Sources for Pool.map, and readers of its results. */
import { flushMicrotasks, nextTurn, watch } from "../_tools.ts";

export async function collect<R>(results: AsyncIterable<R>): Promise<R[]> {
  const all: R[] = [];
  for await (const one of results) all.push(one);
  return all;
}

/** Counts the items that are pulled, and how often it is closed. */
export function source(count: number) {
  const state = { pulled: 0, closed: 0 };
  function* items() {
    try {
      while (state.pulled < count) yield state.pulled++;
    } finally {
      state.closed++;
    }
  }
  return { state, items };
}

export async function* later<T>(items: Iterable<T>) {
  for (const item of items) {
    await nextTurn();
    yield item;
  }
}

/** An asynchronous source and a function, each of whose items takes the given number of turns of a counted clock. */
export function slow(sourceTurns: number, fnTurns: number, count: number) {
  const state = { turn: 0, asked: 0, started: 0, running: 0, most: 0, last: 0 };
  const wait = async (turns: number) => {
    for (const end = state.turn + turns; state.turn < end;) await Promise.resolve();
  };
  const items: AsyncIterable<number> = {
    [Symbol.asyncIterator]: () => ({
      next: async () => {
        state.asked++;
        if (state.asked > count) return { done: true, value: undefined };
        await wait(sourceTurns);
        return { done: false, value: state.asked };
      },
    }),
  };
  const fn = async (n: number) => {
    state.started++;
    state.most = Math.max(state.most, ++state.running);
    await wait(fnTurns);
    state.running--;
    state.last = state.turn;
    return n;
  };
  /** Moves the clock until the promise settles. */
  const run = async <T>(promise: Promise<T>): Promise<T> => {
    const watched = watch(promise);
    while (watched.state === "pending") {
      await flushMicrotasks();
      await flushMicrotasks();
      state.turn++;
    }
    return await promise;
  };
  return { state, items, fn, run };
}
