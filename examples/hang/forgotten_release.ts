/** An early return leaves the lock held. */
import { Lock } from "@interlock/interlock";

const stock = new Lock({ name: "stock" });

async function reserve(pieces: number): Promise<void> {
  const guard = await stock.acquire();
  if (pieces === 0) return; // forgets the release; with `using guard = …` it could not
  guard.release();
}

async function ship(): Promise<void> {
  await stock.run(() => {});
}

export async function hang(): Promise<void> {
  await reserve(0);
  await ship();
}
