/** Vite's dev server within one that a shutdown ends. Prints its port and the token of its HMR socket. */
import { GracefulShutdown } from "@interlock/interlock";
import { createServer } from "node:http";
import { createServer as createVite } from "vite";

const shutdown = new GracefulShutdown({ grace: 20_000 });
const server = shutdown.attach(createServer((request, response) => vite.middlewares(request, response)));
const vite = await createVite({
  configFile: false,
  logLevel: "error",
  server: { middlewareMode: true, hmr: { server }, watch: null },
  optimizeDeps: { noDiscovery: true },
});
shutdown.defer(() => vite.close(), "vite");
server.listen(
  0,
  "127.0.0.1",
  () => console.log(`listening on ${server.address().port}/?token=${vite.config.webSocketToken}`),
);
const { ok } = await shutdown.finished;
process.exit(ok ? 0 : 1);
