import { stateOf } from "../../../../lib/internal/state.ts";
import type { Http1Connections } from "../../../../lib/shutdown/node/http1.ts";
import { assertRules } from "../../rules.ts";

interface Exchange {
  readonly isListed: boolean;
  readonly announced: boolean;
  readonly older: Exchange | undefined;
}

export function assertSoundHttp1(connections: Http1Connections): void {
  for (const { newest } of stateOf<Map<unknown, { newest: Exchange | undefined }>>(connections).values()) {
    for (let each = newest; each !== undefined; each = each.older) {
      assertRules("connection", {
        "a request is not in flight": each.isListed,
        "a request behind the last one": each.older?.announced !== true,
      });
    }
  }
}
