/** A wall clock of a server's own, which can be set while it runs, by libfaketime. */
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const FOLDERS = ["/usr/lib", "/usr/local/lib", "/opt/homebrew/lib"];

/** Where the library is; undefined where it is not installed. */
export function findFaketime(): string | undefined {
  const folders = FOLDERS.filter(existsSync).flatMap((folder) => {
    const below = readdirSync(folder).filter((name) => name.endsWith("-linux-gnu")).map((name) => join(folder, name));
    return [folder, ...below].map((one) => join(one, "faketime"));
  });
  return folders.map((folder) => join(folder, "libfaketime.so.1")).find(existsSync);
}

export class Clock implements Disposable {
  readonly #folder = mkdtempSync(join(tmpdir(), "interlock-clock-"));
  readonly #file = join(this.#folder, "time");
  readonly env: Readonly<Record<string, string>>;

  /** @param library Of {@linkcode findFaketime}. */
  constructor(library: string) {
    this.step(0);
    this.env = {
      LD_PRELOAD: library,
      FAKETIME_TIMESTAMP_FILE: this.#file,
      FAKETIME_NO_CACHE: "1",
      DONT_FAKE_MONOTONIC: "1",
    };
  }

  /** From now on the clock is so many seconds ahead of the machine's, or behind it. */
  step(seconds: number): void {
    writeFileSync(this.#file, `${seconds < 0 ? "-" : "+"}${Math.abs(seconds)}\n`);
  }

  [Symbol.dispose](): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
