/** Where the Redis server is: REDIS_SERVER, or redis-server or valkey-server on the PATH. */
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import process from "node:process";

export function findServer(): string | undefined {
  const given = process.env["REDIS_SERVER"];
  if (given !== undefined && given !== "") return given;
  for (const folder of (process.env["PATH"] ?? "").split(delimiter)) {
    for (const name of ["redis-server", "valkey-server"]) {
      const path = join(folder, name);
      if (existsSync(path)) return path;
    }
  }
  return undefined;
}
