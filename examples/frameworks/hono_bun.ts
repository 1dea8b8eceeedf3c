/**
 * Hono on Bun: `handler` counts the requests, `attach` closes the server.
 *
 *     PORT=8000 bun examples/frameworks/hono_bun.ts
 */
import process from "node:process";
import { type BunServerLike, GracefulShutdown } from "../../mod.ts";
import { app } from "./hono_app.ts";

// Not needed with @types/bun.
declare const Bun: { serve(options: object): BunServerLike };

const shutdown = new GracefulShutdown({ grace: 10_000 });
shutdown.attach(Bun.serve({ port: Number(process.env.PORT ?? 8000), fetch: shutdown.handler(app.fetch) }));
const { ok } = await shutdown.finished;
process.exit(ok ? 0 : 1);
