import { stateOf } from "../../../lib/internal/state.ts";
import type { Results } from "../../../lib/pool/map_results.ts";
import type { MapInProgress } from "../../../lib/pool/state.ts";
import { assertSoundResults } from "./map_results.ts";

type State = [phase: string, running: number, started: number, results: Results<unknown>];

export function assertSoundMap(map: MapInProgress): void {
  const [phase, running, started, results] = stateOf<State>(map);
  const isWorking = phase === "pulling" || phase === "ending";
  const isSound = running >= 0 && running <= started && (running === 0 || isWorking);
  if (!isSound) throw new Error(`unsound map: ${phase}, ${running} of ${started} run`);
  if (phase === "pulling") assertSoundResults(results, running); // a failed function leaves a gap
}
