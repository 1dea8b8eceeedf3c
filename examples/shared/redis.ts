/** The connection that the Redis examples use; any other client works, too. */
import { type Backend, nodeRedis } from "@interlock/interlock/redis";
import process from "node:process";
import { createClient } from "redis";

/** Connects to `url`, by default REDIS_URL. */
export async function connect(url = process.env.REDIS_URL): Promise<{ backend: Backend; close: () => void }> {
  if (!url) throw new Error("Cannot connect to Redis: set REDIS_URL, such as redis://127.0.0.1:6379");
  // Tries for about a second; without it, indefinitely.
  const reconnectStrategy = (tries: number, cause: Error) => tries < 20 ? 50 : cause;
  const client = createClient({ url, socket: { reconnectStrategy } });
  client.on("error", () => {}); // its calls report them
  try {
    await client.connect();
  } catch (cause) {
    throw new Error(`Cannot connect to Redis at ${new URL(url).host}: ${(cause as Error).message}`, { cause });
  }
  return { backend: nodeRedis(client), close: () => client.destroy() };
}

/** Runs an example that needs Redis, and reports in one line what is missing. */
export async function start(main: () => Promise<void>): Promise<void> {
  try {
    await main();
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  }
}
