/** The size of the heap after a full collection, on every run-time. */
import process from "node:process";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

function collector(): () => void {
  const { Bun } = globalThis as { Bun?: { gc(sync: boolean): void } };
  if (Bun) return () => Bun.gc(true);
  setFlagsFromString("--expose-gc");
  return (globalThis as { gc?: () => void }).gc ?? runInNewContext("gc");
}
const collect = collector();

export function heap(): number {
  collect();
  return process.memoryUsage().heapUsed;
}
