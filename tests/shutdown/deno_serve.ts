/** A module for `deno serve`, which hands out no server: answers of each kind, through `handler` alone. */
import process from "node:process";
import { GracefulShutdown } from "../../mod.ts";

/** Far more than the system keeps in its buffers. */
const SIZE = 20_000_000;

const shutdown = new GracefulShutdown({ grace: 120_000 }); // the client may be slow
const answers: Record<string, () => Response> = {
  "/text": () => new Response("x".repeat(SIZE)),
  "/bytes": () => new Response(new Uint8Array(SIZE).fill(120)),
  "/blob": () => new Response(new Blob(["x".repeat(SIZE)])),
  "/piece": () => new Response("x".repeat(60_000)),
  "/nothing": () => new Response(null, { status: 204 }),
};

/** Answers whose search is not empty are given when the shutdown begins. */
export default {
  fetch: shutdown.handler(async (request) => {
    const { pathname, search } = new URL(request.url);
    if (search !== "") {
      console.log("waits");
      await new Promise((resolve) => shutdown.signal.addEventListener("abort", resolve));
    }
    return answers[pathname]?.() ?? new Response("quick");
  }),
};

void shutdown.finished.then(({ ok }) => process.exit(ok ? 0 : 1));
