/** Programs over a SingleFlight with one key. Its model: a flight is over once none of its callers waits. */
import { SingleFlight } from "../../mod.ts";
import { assertSoundSingleFlight } from "../sound/single_flight.ts";
import { deferred } from "../_tools.ts";
import { type Call, ModelQueue } from "./_model_queue.ts";
import { type Program, type Step, type Thing, Violation } from "./_world.ts";

const KEY = "key";

class Flight {
  readonly calls: Call[] = [];
  readonly gate = deferred();
  /** The signal that the function got, which runs. */
  signal: AbortSignal | undefined;
  ending: "granted" | "cancelled" | undefined;

  get waiting(): Call[] {
    return this.calls.filter(({ outcome }) => outcome === "waits");
  }
}

class Flights implements Thing {
  readonly real: SingleFlight<string>;
  readonly queue = new ModelQueue(0);
  readonly all: Flight[] = [];
  current: Flight | undefined;

  constructor(real: SingleFlight<string>) {
    this.real = real;
  }

  readonly sound = () => assertSoundSingleFlight(this.real);

  readonly settle = (): void => {
    for (const flight of this.all) this.#settle(flight);
    const isUp = this.current !== undefined && this.current.waiting.length > 0;
    if (this.real.has(KEY) !== isUp) throw new Violation(`flight: it is ${isUp ? "lost" : "left"}`);
  };

  #settle({ waiting, ending, signal }: Flight): void {
    if (waiting.length === 0) {
      const isDone = ending !== undefined || signal === undefined || signal.aborted;
      if (!isDone) throw new Violation("flight: nobody waits, and its signal has not aborted");
    } else if (signal === undefined) throw new Violation("flight: its function was not called");
    if (ending === undefined) return;
    for (const call of waiting) {
      this.queue.remove(call.task);
      call.outcome = ending;
    }
  }
}

const join: Step = {
  text: "joins the flight",
  on: ["flights"],
  run: (world, task) => {
    const flights = world.things.flights as Flights;
    const isNew = flights.current === undefined || flights.current.waiting.length === 0;
    const flight = isNew ? new Flight() : flights.current!;
    const fn = (signal: AbortSignal) => {
      if (!isNew || flight.signal !== undefined) throw new Violation("flight: one function too many was called");
      flight.signal = signal;
      return flight.gate.promise;
    };
    const call = world.wait(task, "flights", Infinity, () => flights.real.run(KEY, fn, world.options(task)));
    if (call.outcome !== "waits") return;
    flight.calls.push(call);
    if (isNew) flights.all.push(flights.current = flight);
  },
};

/** Ends the function that runs since longest, if there is one. */
function end(how: "granted" | "cancelled"): Step {
  return {
    text: how === "granted" ? "ends a function" : "lets a function fail",
    on: ["flights"],
    run: (world) => {
      const { all } = world.things.flights as Flights;
      const flight = all.find(({ signal, ending, waiting }) => signal && !ending && waiting.length > 0);
      if (flight === undefined) return;
      flight.ending = how;
      if (how === "granted") flight.gate.resolve();
      else flight.gate.reject(new Error("failed"));
    },
  };
}

const forget: Step = {
  text: "forgets the key",
  on: ["flights"],
  run: (world) => {
    const flights = world.things.flights as Flights;
    flights.real.forget(KEY);
    flights.current = undefined;
  },
};

/** Callers come and go while a function fails. */
export function flown(name: string, make: () => SingleFlight<string>): Program {
  return {
    name: `${name}: three callers, two may be aborted, a function fails and one ends`,
    make: () => ({ flights: new Flights(make()) }),
    tasks: { A: [join], B: [join], C: [join, join], D: [end("cancelled"), end("granted")] },
    aborts: ["A", "B"],
    deadlocks: true, // nobody ends a function that is called later
  };
}

export const flightPrograms: readonly Program[] = [
  flown("SingleFlight", () => new SingleFlight()),
  {
    name: "SingleFlight: the key is forgotten at any moment",
    make: () => ({ flights: new Flights(new SingleFlight()) }),
    tasks: { A: [join, join], B: [join], C: [end("granted"), end("granted")], D: [forget] },
    aborts: ["B"],
    deadlocks: true,
  },
];
