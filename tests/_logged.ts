/** The text that console.log writes, on any run-time. */
import { inspect } from "node:util";

type Inspect = (value: unknown, options: { colors: boolean }) => string;

/** The text that console.log writes on this run-time, on one line. */
export function logged(...values: unknown[]): string {
  const { Deno, Bun } = globalThis as { Deno?: { inspect: Inspect }; Bun?: { inspect: Inspect } };
  const format = (Deno ?? Bun)?.inspect ?? inspect;
  return values.map((value) => format(value, { colors: false })).join(" ").replaceAll('"', "'").replace(/\s+/g, " ");
}
