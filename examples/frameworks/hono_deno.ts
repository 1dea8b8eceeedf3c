/**
 * Hono on Deno: `handler` counts the requests, `attach` closes the server.
 *
 *     PORT=8000 deno run --allow-net --allow-env examples/frameworks/hono_deno.ts
 */
import { GracefulShutdown } from "../../mod.ts";
import { app } from "./hono_app.ts";

const shutdown = new GracefulShutdown({ grace: 10_000 });
const port = Number(Deno.env.get("PORT") ?? 8000);
// Deno's server can be closed by force only through its `signal` option.
shutdown.attach(Deno.serve({ port, signal: shutdown.forced }, shutdown.handler(app.fetch)));
const { ok } = await shutdown.finished;
Deno.exit(ok ? 0 : 1);
