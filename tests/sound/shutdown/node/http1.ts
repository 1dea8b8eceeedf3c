import { assertRules } from "../../rules.ts";

/** The open connections of a server. */
export type Connections = ReadonlyMap<unknown, { readonly newest: Exchange | undefined }>;

interface Exchange {
  readonly isListed: boolean;
  readonly closeAnnounced: boolean;
  readonly older: Exchange | undefined;
}

export function assertSoundHttp1(connections: Connections): void {
  for (const { newest } of connections.values()) {
    for (let each = newest; each !== undefined; each = each.older) {
      assertRules("connection", {
        "a request is not in flight": each.isListed,
        "a request behind the last one": each.older?.closeAnnounced !== true,
      });
    }
  }
}
