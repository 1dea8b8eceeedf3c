import { stateOf } from "../../../../lib/internal/state.ts";
import type { AttachedServer } from "../../../../lib/shutdown/shutdown_state.ts";
import { assertSoundHttp1, type Connections } from "./http1.ts";

/** Does nothing for a server of another run-time. */
export function assertSoundNodeServer(server: AttachedServer): void {
  const connections = stateOf<Connections | undefined>(server);
  if (connections !== undefined) assertSoundHttp1(connections);
}
