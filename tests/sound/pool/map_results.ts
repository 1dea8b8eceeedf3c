import type { Results } from "../../../lib/pool/map_results.ts";

export function assertSoundResults(results: Results<unknown>, running: number): void {
  const { nodes: { size: nodes, first }, isOrdered, collected } = results;
  const isCollected = collected !== undefined;
  const isSound = isCollected || nodes + (isOrdered ? 0 : running) === results.ahead;
  if (!isSound || nodes > results.ahead) throw new Error(`unsound results: ${nodes} kept, ${results.ahead} ahead`);
  if (results.isAwaited && first?.isReady && !isCollected) {
    throw new Error("unsound results: a read waits for a ready result");
  }
}
