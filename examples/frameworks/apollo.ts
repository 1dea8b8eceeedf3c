/**
 * Apollo Server 5 with Express: its stop() ends resources of the resolvers, so it comes after the last request: `defer`. Without
 * `stopOnTerminationSignals: false` it stops at the signal, and sends the signal to the process again.
 *
 *     PORT=8000 node examples/frameworks/apollo.ts
 */
import process from "node:process";
import { setTimeout as pause } from "node:timers/promises";
import { ApolloServer } from "@apollo/server";
import { expressMiddleware } from "@as-integrations/express5";
import express from "express";
import { GracefulShutdown } from "../../mod.ts";

const shutdown = new GracefulShutdown({ grace: 10_000, ready: false });
const apollo = new ApolloServer({
  typeDefs: "type Query { wait(ms: Int!): String }",
  resolvers: {
    Query: {
      wait: async (_: unknown, { ms }: { ms: number }) => {
        await pause(ms);
        return `waited ${ms} ms\n`;
      },
    },
  },
  stopOnTerminationSignals: false,
});
await apollo.start();
const app = express();
app.use("/graphql", express.json(), expressMiddleware(apollo));
app.get("/wait/:ms", async (request, response) => {
  const query = `{ wait(ms: ${Number(request.params.ms)}) }`;
  const { body } = await apollo.executeOperation<{ wait: string }>({ query });
  response.send(body.kind === "single" ? body.singleResult.data?.wait : "");
});

shutdown.attach(app.listen(Number(process.env.PORT ?? 8000)));
shutdown.defer(() => apollo.stop(), "apollo");
shutdown.ready = true;
const { ok } = await shutdown.finished;
process.exit(ok ? 0 : 1);
