import type { Results } from "../../../lib/pool/map_results.ts";

export function assertSoundResults(results: Results<unknown>, running: number): void {
  const { first, isOrdered, held } = results;
  const isHeld = held !== undefined;
  let nodes = 0;
  for (let node = first; node !== undefined; node = node.next) nodes++;
  const isSound = isHeld || nodes + (isOrdered ? 0 : running) === results.ahead;
  if (!isSound || nodes > results.ahead) throw new Error(`unsound results: ${nodes} kept, ${results.ahead} ahead`);
  if (results.isAwaited && first?.isReady && !isHeld) {
    throw new Error("unsound results: a read waits for a ready result");
  }
}
