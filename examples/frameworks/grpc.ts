/**
 * @grpc/grpc-js: tryShutdown() stops listening, sends GOAWAY and waits for calls: `onShutdown` instead of `attach`.
 *
 *     PORT=8000 node examples/frameworks/grpc.ts
 */
import process from "node:process";
import { setTimeout as pause } from "node:timers/promises";
import { type sendUnaryData, Server, ServerCredentials, type ServerUnaryCall } from "@grpc/grpc-js";
import { GracefulShutdown } from "../../mod.ts";

const shutdown = new GracefulShutdown({ grace: 10_000, ready: false });
const server = new Server();
const text = { serialize: (value: string) => Buffer.from(value), deserialize: (bytes: Uint8Array) => String(bytes) };
const wait = {
  path: "/example.Waiting/Wait",
  requestStream: false,
  responseStream: false,
  requestSerialize: text.serialize,
  requestDeserialize: text.deserialize,
  responseSerialize: text.serialize,
  responseDeserialize: text.deserialize,
};
server.addService({ wait }, {
  wait: async ({ request }: ServerUnaryCall<string, string>, answer: sendUnaryData<string>) => {
    await pause(Number(request));
    answer(null, `waited ${request} ms\n`);
  },
});

const address = `127.0.0.1:${process.env.PORT ?? 8000}`;
await new Promise((listening, reject) => {
  server.bindAsync(
    address,
    ServerCredentials.createInsecure(),
    (error) => error ? reject(error) : listening(undefined),
  );
});
shutdown.onShutdown(() => new Promise((ended) => server.tryShutdown(ended)), "grpc");
shutdown.forced.addEventListener("abort", () => server.forceShutdown());
shutdown.ready = true;
const { ok } = await shutdown.finished;
process.exit(ok ? 0 : 1);
