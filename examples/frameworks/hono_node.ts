/**
 * Hono on Node. `serve` returns a server of node:http: attach that one; `handler` is not needed.
 *
 *     PORT=8000 node examples/frameworks/hono_node.ts
 */
import process from "node:process";
import { serve } from "@hono/node-server";
import { GracefulShutdown } from "../../mod.ts";
import { app } from "./hono_app.ts";

const shutdown = new GracefulShutdown({ grace: 10_000 });
shutdown.attach(serve({ fetch: app.fetch, port: Number(process.env.PORT ?? 8000) }));
const { ok } = await shutdown.finished;
process.exit(ok ? 0 : 1);
