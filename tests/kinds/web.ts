/** Every public class of the entry ./web. */
import { WebLock, WebRwLock } from "../../lib/web/mod.ts";
import { holdable, kind, type Kinds } from "./kind.ts";

export const webKinds: Kinds = {
  WebLock: kind({
    make: (_, { locks }) => new WebLock("kind", { locks }),
    calls: (lock) => holdable(lock),
    hasName: false,
  }),
  WebRwLock: kind({
    make: (_, { locks }) => new WebRwLock("kind", { locks }),
    calls: ({ reader, writer }) => ({ ...holdable(reader, writer, "reader."), ...holdable(writer, writer, "writer.") }),
    hasName: false,
  }),
};
