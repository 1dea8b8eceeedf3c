/** A redis-server for a demo. */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { kill } from "./processes.ts";

/** Starts a server, unless REDIS_URL names one. An error shows in one line what to install. */
export async function startServer(): Promise<{ url: string; stop: () => Promise<void> }> {
  const given = process.env.REDIS_URL;
  if (given) return { url: given, stop: () => Promise.resolve() };
  const folder = mkdtempSync(join(tmpdir(), "interlock-demo-"));
  const port = await freePort();
  const args = ["--port", String(port), "--bind", "127.0.0.1", "--dir", folder, "--save", ""];
  const child = spawn(process.env.REDIS_SERVER || "redis-server", args, { stdio: "ignore" });
  await new Promise<void>((resolve, reject) => {
    child.once("spawn", resolve);
    child.once("error", () => {
      rmSync(folder, { recursive: true, force: true });
      reject(new Error("Cannot start redis-server: apt-get install redis-server, or set REDIS_URL"));
    });
  });
  const stop = async () => {
    await kill(child);
    rmSync(folder, { recursive: true, force: true });
  };
  return { url: `redis://127.0.0.1:${port}`, stop };
}

async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve) => probe.listen(0, "127.0.0.1", resolve));
  const { port } = probe.address() as AddressInfo;
  await new Promise((resolve) => probe.close(resolve));
  return port;
}
