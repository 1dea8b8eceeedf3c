/** What `deno task bench:shutdown` measures, and the goals. */
import type { Described } from "../_situation.ts";

/** Our contender, and the bare server that all are compared with. */
export const OURS = "interlock";
export const BARE = "a bare server";
export const ASYNC = "an async function around it";
export const PEERS: readonly string[] = [
  "http-graceful-shutdown",
  "@godaddy/terminus",
  "http-terminator",
  "stoppable",
  "lightship",
];

/** The platform of a server: `createServer` of node:http, or Deno.serve and Bun.serve. */
export type Kind = "node" | "fetch";

const SERVER: Record<Kind, string> = { node: "node:http", fetch: "Deno.serve or Bun.serve" };

export const cpuOf = (kind: Kind) => `a request to ${SERVER[kind]}, CPU time`;
export const ratioOf = (kind: Kind) => `a request to ${SERVER[kind]}, CPU time next to a bare server`;
export const HEAP = "an idle connection to node:http, heap beyond a bare server's";

const WHY_NODE =
  "by a profile on Node 20, the functions of this module take 1.7 % of a request: the end of its answer " +
  "0.7, the way from `emit` to the listeners 0.4, its object 0.3; to add the listener for that end is the rest. Tried: " +
  "a Set of the requests in flight in place of a list through them (4 to 5 % more).";
const WHY_FETCH =
  "a handler that takes the request, as a wrapper has to, costs Deno 0.05 more than the bare one here, " +
  "for which it makes no Request; the promise that `handler` returns 0.04, since Deno has a quicker way for a handler " +
  "that returns the Response itself; `request.method`, which shows uploads, 0.04. Tried: the monotonic clock (0.04 more " +
  "than the wall clock), a Set of the requests in flight (0.03 more).";

const ours = { [OURS]: true };

/** The bounds of the contract. */
export const situations: readonly Described[] = [
  {
    name: ratioOf("node"),
    unit: "×",
    ours,
    goals: [{ against: "value", ratio: 1.05, deno: 1.15, why: WHY_NODE }],
  },
  { name: cpuOf("node"), unit: "µs", ours },
  { name: HEAP, unit: "bytes", ours, goals: [{ against: "value", ratio: 500 }] },
  { name: ratioOf("fetch"), unit: "×", ours, goals: [{ against: "value", ratio: 1.15, why: WHY_FETCH }] },
  { name: cpuOf("fetch"), unit: "µs", ours },
];
