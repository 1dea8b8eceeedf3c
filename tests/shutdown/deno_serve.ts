/** A module for `deno serve`, which hands out no server: large answers of each kind, through `handler` alone. */
import process from "node:process";
import { GracefulShutdown } from "../../mod.ts";

/** Far more than the system keeps in its buffers. */
const SIZE = 20_000_000;

const shutdown = new GracefulShutdown({ grace: 120_000 }); // the client may be slow
const answers: Record<string, () => Response> = {
  "/text": () => new Response("x".repeat(SIZE)),
  "/bytes": () => new Response(new Uint8Array(SIZE).fill(120)),
  "/blob": () => new Response(new Blob(["x".repeat(SIZE)])),
};

export default {
  fetch: shutdown.handler((request) => answers[new URL(request.url).pathname]?.() ?? new Response("quick")),
};

void shutdown.finished.then(({ ok }) => process.exit(ok ? 0 : 1));
