/** The recipes of docs/diagnostics.md: the dashboard behind authentication, in Hono and in Express. */
import assert from "node:assert/strict";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import express from "express";
import { Hono } from "hono";
import { basicAuth } from "hono/basic-auth";
import { dashboard } from "../../lib/dashboard/mod.ts";
import { test } from "../_test.ts";

const [username, password] = ["ops", "correct horse"];
const authorization = `Basic ${btoa(`${username}:${password}`)}`;

test("dashboard: in Hono behind Basic authentication, under a listed host", async () => {
  using show = dashboard({ hosts: ["admin.example.com"] });
  const app = new Hono();
  app.use("/locks", basicAuth({ username, password }));
  app.get("/locks", (c) => show(c.req.raw));
  const statusOf = async (url: string, headers = {}) => {
    const response = await app.request(url, { headers });
    await response.body?.cancel();
    return response.status;
  };
  for (const path of ["", "?events"]) {
    assert.equal(await statusOf(`https://admin.example.com/locks${path}`), 401);
    assert.equal(await statusOf(`https://admin.example.com/locks${path}`, { authorization }), 200);
    assert.equal(await statusOf(`https://evil.example/locks${path}`, { authorization }), 403);
  }
});

test("dashboard: in Express behind a middleware, through the adapter for node:http", async () => {
  using show = dashboard();
  const app = express();
  const requireAdmin: express.RequestHandler = (request, response, next) => {
    if (request.headers.authorization === authorization) next();
    else response.status(401).end();
  };
  app.get("/locks", requireAdmin, getRequestListener(show, { overrideGlobalObjects: false }) as RequestListener);
  const server = createServer(app).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/locks`;
  const statusOf = async (path: string, init: RequestInit = {}) => {
    const response = await fetch(url + path, init);
    await response.body?.cancel();
    return response.status;
  };
  try {
    assert.equal(await statusOf(""), 401);
    assert.equal(await statusOf("", { headers: { authorization } }), 200);
    assert.equal(await statusOf("?events", { headers: { authorization } }), 200);
    assert.equal(await statusOf("?events", { headers: { authorization }, method: "HEAD" }), 200);
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});
