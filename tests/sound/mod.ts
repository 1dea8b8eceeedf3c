/** The invariants of everything local, by class. */
import { classOf } from "../../lib/internal/class_name.ts";
import { localKinds } from "../kinds/local.ts";

/** Throws unless the invariants of this thing hold; does nothing for a thing without a row in the list of kinds. */
export function assertSound(thing: object): void {
  localKinds[classOf(thing)]?.sound?.(thing);
}
