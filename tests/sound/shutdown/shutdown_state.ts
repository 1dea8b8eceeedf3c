import type { ShutdownState } from "../../../lib/shutdown/shutdown_state.ts";
import { assertRules } from "../rules.ts";
import { assertSoundInFlight } from "./in_flight.ts";
import { assertSoundNodeServer } from "./node/server.ts";

export function assertSoundShutdownState(state: ShutdownState): void {
  const { phase, signal, counts, steps, heldBack, inFlight, servers } = state;
  assertRules(`shutdown, ${phase}`, {
    "a signal before its phase": phase !== "serving" || !signal.aborted,
    "requests are held back for ever": heldBack === undefined || counts && state.hasReached("calming"),
    "steps that never run": phase !== "finished" || steps.length === 0,
  });
  assertSoundInFlight(inFlight);
  servers.forEach(assertSoundNodeServer);
}
