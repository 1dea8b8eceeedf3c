/** Every schedule of a program, up to a bound, one after the other; each is run from the start. */
import { Random } from "../_tools.ts";
import { type Action, type Program, Violation, World } from "./_world.ts";

/** The result of a search. */
export interface Found {
  /** Schedules that were run to their end. */
  readonly schedules: number;
  /** Schedules that were left where another one had been in the same situation. */
  readonly pruned: number;
  /** Whether the bound ended the search. */
  readonly cut: boolean;
  /** The first schedule that went wrong. */
  readonly violation?: Broken | undefined;
}

/** A schedule that goes wrong. */
export interface Broken {
  readonly program: Program;
  readonly schedule: readonly Action[];
  readonly message: string;
}

/** Runs all schedules of `program`, at most `bound` of them; they are chosen evenly, in the same order each time. */
export async function search(program: Program, bound = Infinity): Promise<Found> {
  const seen = new Set<string>();
  const todo: Action[][] = [[]];
  let schedules = 0;
  let pruned = 0;
  const random = new Random(1);
  for (let prefix = todo.pop(); prefix !== undefined; prefix = takeAny(todo, random)) {
    if (schedules + pruned >= bound) return { schedules, pruned, cut: true };
    const end = await run(program, prefix, seen, todo);
    if (typeof end === "object") return { schedules, pruned, cut: false, violation: end };
    if (end === "seen") pruned++;
    else schedules++;
  }
  return { schedules, pruned, cut: false };
}

function takeAny<T>(items: T[], random: Random): T | undefined {
  const last = items.pop();
  if (items.length === 0) return last;
  const at = random.below(items.length + 1);
  return at === items.length ? last : items.splice(at, 1, last!)[0];
}

/** Follows `prefix`, then always the first way; the other ways on this path are put on `todo`. */
async function run(
  program: Program,
  prefix: readonly Action[],
  seen: Set<string>,
  todo: Action[][],
): Promise<"over" | "seen" | Broken> {
  const world = new World(program);
  const path: Action[] = [];
  try {
    for (;;) {
      const ways = world.enabled();
      if (path.length >= prefix.length) {
        // The next state of a thing depends only on its own history; steps on different things commute.
        const here = world.fingerprint();
        if (seen.has(here)) return "seen";
        seen.add(here);
        for (const way of ways.slice(1)) todo.push([...path, way]);
      }
      const action = prefix[path.length] ?? ways[0];
      if (action === undefined) {
        world.checkEnd();
        return "over";
      }
      path.push(action);
      const turn = world.act(action);
      if (turn) await turn; // without a turn of the microtasks where the schedule has none
    }
  } catch (error) {
    if (error instanceof Violation) return { program, schedule: path, message: error.message };
    throw error;
  } finally {
    world.close();
  }
}

/** One schedule as text: each step, and the state after it. */
export async function tell(program: Program, schedule: readonly Action[]): Promise<string> {
  const world = new World(program);
  const lines = [program.name];
  try {
    for (const [index, action] of schedule.entries()) {
      const enabled = world.enabled();
      if (!enabled.includes(action)) {
        throw new RangeError(`step ${index + 1} cannot be "${action}": it can be ${enabled.join(", ") || "nothing"}`);
      }
      const text = world.text(action);
      const turn = world.act(action);
      lines.push(line(index, text, world));
      if (turn) await turn;
    }
    if (world.enabled().length === 0) world.checkEnd();
    lines.push("  no violation");
  } catch (error) {
    if (!(error instanceof Violation)) throw error;
    lines.push(`  violation of ${error.message}`);
  } finally {
    world.close();
  }
  return [...lines, `  replay: ${schedule.join(",")}`].join("\n");
}

function line(index: number, text: string, world: World): string {
  return `  ${String(index + 1).padStart(2)}  ${text.padEnd(30)} ${world.describe()}`;
}
