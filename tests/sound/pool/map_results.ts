import type { Results } from "../../../lib/pool/map_results.ts";

export function assertSoundResults(results: Results<unknown>, running: number): void {
  const { first, isOrdered, collected } = results;
  const isCollected = collected !== undefined;
  let nodes = 0;
  for (let node = first; node !== undefined; node = node.next) nodes++;
  const isSound = isCollected || nodes + (isOrdered ? 0 : running) === results.ahead;
  if (!isSound || nodes > results.ahead) throw new Error(`unsound results: ${nodes} kept, ${results.ahead} ahead`);
  if (results.isAwaited && first?.isReady && !isCollected) {
    throw new Error("unsound results: a read waits for a ready result");
  }
}
