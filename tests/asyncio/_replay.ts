/** Makes the moves of a recorded program with our primitives, and compares the states with those of asyncio. */
import { flushMicrotasks } from "../_tools.ts";

/** A program, and asyncio's state after each of its moves. */
export interface Recorded {
  readonly moves: readonly string[];
  readonly trace: readonly string[];
}

/** A program with our primitives. */
export interface Program {
  move(text: string): void;
  /** The state as the recorder writes it. */
  state(): string;
  /** Ends all that goes on after the last move. */
  end?(): void;
}

/** The first move after which our state differs from asyncio's, in words. */
export async function difference(program: Program, { moves, trace }: Recorded): Promise<string | undefined> {
  await flushMicrotasks();
  const states: string[] = [];
  for (const move of moves) {
    program.move(move);
    await flushMicrotasks();
    states.push(program.state());
  }
  program.end?.();
  const at = states.findIndex((state, i) => state !== trace[i]);
  if (at < 0) return undefined;
  return [...moves.slice(0, at + 1).map((move, i) => `${move.padEnd(24)} ${trace[i]}`), `here: ${states[at]}`].join(
    "\n",
  );
}
