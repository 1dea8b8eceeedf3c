import { stateOf } from "../../../../lib/internal/state.ts";
import type { Http1Connections } from "../../../../lib/shutdown/node/http1.ts";
import type { AttachedServer } from "../../../../lib/shutdown/shutdown_state.ts";
import { assertSoundHttp1 } from "./http1.ts";

/** Does nothing for a server of another run-time. */
export function assertSoundNodeServer(server: AttachedServer): void {
  const connections = stateOf<Http1Connections | undefined>(server);
  if (connections !== undefined) assertSoundHttp1(connections);
}
