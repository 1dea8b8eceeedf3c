/** The models that are explored. */
import { mutex, weighted } from "../../../lib/redis/internal/resource_spec.ts";
import type { Model } from "./_model.ts";

export function models(depth: number, faults: number): Record<string, Model> {
  const bounds = { depth, faults };
  return {
    "a lock and 3 clients": { family: mutex, limit: 1, weights: [1, 1, 1], ...bounds },
    "a semaphore of 2 and a large request": { family: weighted, limit: 2, weights: [1, 2, 1], ...bounds },
  };
}
