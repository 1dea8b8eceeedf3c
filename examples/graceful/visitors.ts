/**
 * Visitors for the page: requests that the server sends to itself, because a browser has only six connections to a
 * host.
 */

/** The requests of all visitors so far, by outcome. */
export interface Visits {
  waiting: number;
  answered: number;
  /** Refused, or 503: another server would take them. */
  refused: number;
  /** Accepted, with an incomplete response or none. */
  lost: number;
}

/** The requests, one of each kind in turn. A response is complete if it ends with `end`. */
const KINDS: readonly ((ms: number) => { path: string; end: string; body?: Uint8Array<ArrayBuffer> })[] = [
  (ms) => ({ path: `/slow?ms=${ms}`, end: `waited ${ms} ms\n` }),
  (ms) => ({ path: `/stream?chunks=20&ms=${Math.ceil(ms / 20)}`, end: "20/20\n" }),
  (ms) => ({ path: `/slow?ms=${ms}`, end: `waited ${ms} ms\n` }),
  () => ({ path: "/upload", end: '"}', body: new Uint8Array(500_000) }),
];

/** The longest visit takes this long, in ms. */
const LONGEST = 6_000;

/** Sends `count` requests to the server on `port` of this machine, side by side, and counts them in `visits`. */
export function visit(port: number, count: number, visits: Visits): void {
  for (let i = 0; i < count; i++) void one(port, i, visits);
}

async function one(port: number, i: number, visits: Visits): Promise<void> {
  const { path, end, body } = KINDS[i % KINDS.length]!(1_000 + Math.floor(Math.random() * (LONGEST - 1_000)));
  visits.waiting++;
  visits[await outcome(`http://127.0.0.1:${port}${path}`, end, body)]++;
  visits.waiting--;
}

async function outcome(url: string, end: string, body: Uint8Array<ArrayBuffer> | undefined): Promise<keyof Visits> {
  let response: Response | undefined;
  try {
    response = await fetch(url, body === undefined ? {} : { method: "POST", body });
    const whole = (await response.text()).endsWith(end);
    if (response.status === 503) return "refused";
    return whole ? "answered" : "lost";
  } catch {
    return response === undefined ? "refused" : "lost";
  }
}
