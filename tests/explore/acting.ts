/**
 * Programs with an observer that acts in the middle of what is reported to it: it aborts a call, disposes of a guard or
 * acquires. The things have to be as the report says by then, and to look again behind it.
 */
import { Lock, Semaphore } from "../../mod.ts";
import type { Report } from "./_model_queue.ts";
import { acquire, type Holdable, holdable, release } from "./_steps.ts";
import type { Act, Program, Step } from "./_world.ts";

type Deed = Omit<Act, "at" | "of">;

const abortsC: Deed = {
  real: (world) => world.abortReal(world.task("C")),
  model: (world) => world.abortModel(world.task("C")),
};

const disposesOfA: Deed = {
  real: (world) => world.task("A").guard?.[Symbol.dispose]?.(),
  model: (world) => {
    if (world.task("A").guard !== undefined) world.things.thing!.queue.leave("A");
  },
};

/** The call of D. */
function acquiresForD(): Deed {
  let call: Promise<unknown>;
  return {
    real: (world) => call = world.as("D", () => world.things.thing!.real.acquire()),
    model: (world) => void world.wait(world.task("D"), "thing", 1, () => call),
    starts: "D",
  };
}

const visit = (weight = 1): Step[] => [acquire("thing", weight), release("thing")];

const DEEDS = { "aborts C": () => abortsC, "disposes of A": () => disposesOfA, "acquires": acquiresForD };

/** A thing with this weight free, of which B wants a weight. */
export function acted(
  name: string,
  make: () => Holdable,
  at: Report,
  deed: keyof typeof DEEDS,
  [free, weight]: readonly [number, number] = [1, 1],
): Program {
  return {
    name: `${name}: an observer ${deed} in B's ${at}`,
    make: () => ({ thing: holdable(make(), free) }),
    tasks: { A: visit(), B: visit(weight), C: visit(), D: [release("thing")] },
    aborts: [...at === "giveUp" ? ["B"] : [], ...deed === "aborts C" ? ["C"] : []],
    act: { at, of: "B", ...DEEDS[deed]() },
  };
}

export const actedPrograms: readonly Program[] = (["wait", "grant", "giveUp", "release"] as const).flatMap((at) =>
  (Object.keys(DEEDS) as (keyof typeof DEEDS)[]).flatMap((deed) => [
    acted("Lock", () => new Lock(), at, deed),
    acted("Semaphore", () => new Semaphore(2), at, deed, [2, 2]),
  ])
);
