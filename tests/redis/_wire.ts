/** Bare connections for the fixture and for the double of jsr:@db/redis: none is opened again, and none says who it is. */
import { Redis } from "ioredis";

/** They send nothing of their own: a default user with a password answers NOAUTH. */
const QUIET = { protocol: 2, enableReadyCheck: false, disableClientInfo: true } as const;
const OPTIONS = { ...QUIET, lazyConnect: true, retryStrategy: () => null };

export async function connectBare(port: number): Promise<Redis> {
  const client = new Redis(port, "127.0.0.1", OPTIONS);
  client.on("error", () => {});
  await client.connect();
  return client;
}

/** Closes a client of ioredis and waits until it is. */
export async function closeIo(
  client: { readonly status: string; once(event: "end", fn: () => void): unknown; disconnect(): void },
): Promise<void> {
  if (client.status === "end") return;
  const isBetween = client.status === "reconnecting"; // between two attempts it ends without an event
  const ended = new Promise<void>((resolve) => client.once("end", resolve));
  client.disconnect();
  if (!isBetween) await ended;
}
