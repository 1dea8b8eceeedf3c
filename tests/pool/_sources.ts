/** Sources for Pool.map, and readers of its results. */
import { nextTurn } from "../_tools.ts";

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
