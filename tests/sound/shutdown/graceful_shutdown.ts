import { stateOf } from "../../../lib/internal/state.ts";
import type { GracefulShutdown } from "../../../lib/shutdown/graceful_shutdown.ts";
import type { ShutdownState } from "../../../lib/shutdown/shutdown_state.ts";
import { assertSoundShutdownState } from "./shutdown_state.ts";

export function assertSoundShutdown(shutdown: GracefulShutdown): void {
  assertSoundShutdownState(stateOf<ShutdownState>(shutdown));
}
