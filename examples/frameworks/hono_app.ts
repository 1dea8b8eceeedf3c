/** The application that hono_node.ts, hono_deno.ts and hono_bun.ts serve. */
import { setTimeout as pause } from "node:timers/promises";
import { Hono } from "hono";

/** It does not know how it is served or shut down. */
export const app: Hono = new Hono().get("/wait/:ms", async (context) => {
  const ms = context.req.param("ms");
  await pause(Number(ms));
  return context.text(`waited ${ms} ms\n`);
});
