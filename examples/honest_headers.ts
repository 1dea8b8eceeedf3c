/**
 * A server that reports its limits truthfully: `RateLimit` and `RateLimit-Policy` (the IETF's draft) with every
 * response, and `Retry-After` with each 429.
 */
import { KeyedRateLimiter } from "@interlock/interlock";

const users = new KeyedRateLimiter<string>(3, 60_000, { name: "users" });

/** Seconds, rounded up: a client that waits that long is not refused again, unless other clients were faster. */
const seconds = (ms: number): number => Math.ceil(ms / 1000);

function limitHeaders(user: string): Record<string, string> {
  const { limit, interval } = users;
  const full = seconds(users.retryAfter(user, limit)); // until the whole limit is available again
  return {
    "RateLimit-Policy": `"user";q=${limit};w=${seconds(interval)}`,
    "RateLimit": `"user";r=${users.remaining(user)};t=${full}`,
  };
}

/** A fetch-style handler, for Deno.serve, Bun.serve or any framework. */
export function handler(request: Request): Response {
  const user = request.headers.get("x-user") ?? "anonymous";
  if (users.tryAcquire(user)) return new Response("done", { headers: limitHeaders(user) });
  const wait = { "Retry-After": `${seconds(users.retryAfter(user))}` };
  return new Response("too many requests", { status: 429, headers: { ...limitHeaders(user), ...wait } });
}

export function main(print: (line: string) => void = console.log) {
  const ask = () => handler(new Request("http://localhost/", { headers: { "x-user": "ada" } }));
  for (let i = 0; i < 4; i++) {
    const { status, headers } = ask();
    const retry = headers.has("Retry-After") ? `, Retry-After: ${headers.get("Retry-After")}` : "";
    print(`${status}, RateLimit: ${headers.get("RateLimit")}${retry}`);
  }
}

if (import.meta.main) main();
