/** Ports for servers of the tests. */
import { type AddressInfo, createServer } from "node:net";

/** A port of the loopback interface that no process listens on. Rejects if `wanted` is in use. */
export async function freePort(wanted = 0): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => server.once("error", reject).listen(wanted, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise<void>((resolve) => server.close(() => resolve()));
  return port;
}
