/**
 * Real Redis servers for the tests: each on a free loopback port, in a temporary folder of its own, ended by the test
 * that started it.
 */
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import type { Redis } from "ioredis";
import { freePort } from "../_ports.ts";
import { PASSWORD } from "../_secrets.ts";
import { findServer } from "./_find_server.ts";
import { closeIo, connectBare } from "./_wire.ts";

/** Commands that change a server beyond its data. */
const CHANGES = /^(ACL SETUSER default|CONFIG SET|REPLICAOF|SHUTDOWN|FAILOVER|CLIENT PAUSE)\b/i;

export class Server implements AsyncDisposable {
  readonly port: number;
  readonly #args: readonly string[];
  readonly #folder = mkdtempSync(join(tmpdir(), "interlock-redis-"));
  #child: ChildProcess | undefined;
  #exited: Promise<void> = Promise.resolve();
  #wire: Redis | undefined;
  #isLent = false;

  private constructor(port: number, args: readonly string[]) {
    this.port = port;
    this.#args = args;
  }

  static async start(...args: string[]): Promise<Server> {
    for (;;) {
      const server = new Server(await freePort(), args);
      if (await server.#starts()) return server;
      server.end(); // another process took the port meanwhile
    }
  }

  /**
   * This server for one test among others: empty, and as after its start. Disposing of it leaves it running. What would
   * change it for the next test throws.
   */
  async lend(): Promise<this> {
    this.#isLent = true;
    for (const command of ["FLUSHALL", "SCRIPT FLUSH", "CONFIG RESETSTAT"]) await this.send(...command.split(" "));
    return this;
  }

  /** The opposite of `lend`. */
  takeBack(): void {
    this.#isLent = false;
  }

  #mayChange(): void {
    if (this.#isLent) throw new Error("this test needs a server of its own: { isAlone: true }");
  }

  /** Waits while another process has the port. */
  static async startAt(port: number, ...args: string[]): Promise<Server> {
    const server = new Server(port, args);
    await server.start();
    return server;
  }

  /** With the password, so that it would show in a message or log that prints the client's options or commands. */
  get url(): string {
    return this.urlAs("tests");
  }

  urlAs(user: string): string {
    return `redis://${user}:${PASSWORD}@127.0.0.1:${this.port}`;
  }

  /** Starts it again, at the same port. */
  async start(): Promise<void> {
    for (const end = Date.now() + 60_000; !await this.#starts();) {
      if (Date.now() > end) throw new Error(`no Redis server can be started at port ${this.port}`);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }

  /** Resolves to false if the process exits before it answers, as it does if the port is taken. */
  async #starts(): Promise<boolean> {
    const path = findServer();
    if (path === undefined) throw new Error("no Redis server here: run tests/redis/ensure_server.ts first");
    const args = ["--port", String(this.port), "--bind", "127.0.0.1", "--dir", this.#folder, "--save", ""];
    args.push("--user", "tests", "on", `>${PASSWORD}`, "~*", "&*", "+@all");
    const child = spawn(path, [...args, ...this.#args], { stdio: "ignore" });
    this.#child = child;
    this.#exited = new Promise((resolve) =>
      child.once("exit", () => {
        if (this.#child === child) this.#child = undefined; // its id may be another process's soon
        resolve();
      })
    );
    for (const end = Date.now() + 60_000; this.#child === child;) {
      try {
        if (await this.#answeredBy() === child.pid) return true;
      } catch (error) {
        if (Date.now() > end) throw error;
      }
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    await this.#hangUp();
    return false;
  }

  /** The id of the process that answers at the port: it may be the server of another test. */
  async #answeredBy(): Promise<number> {
    // Not over the fixture's own connection, which stays that of the default user.
    const asTests = await connectBare(this.port);
    try {
      await asTests.call("AUTH", "tests", PASSWORD);
      await asTests.call("PING"); // rejects while it loads its data
      return Number(/^process_id:(\d+)/m.exec(String(await asTests.call("INFO", "server")))?.[1]);
    } finally {
      await closeIo(asTests);
    }
  }

  /** Sends a command over the fixture's own connection. */
  async send(...parts: (string | number)[]): Promise<unknown> {
    if (CHANGES.test(parts.join(" "))) this.#mayChange();
    if (this.#wire?.status !== "ready") this.#wire = await connectBare(this.port);
    const [name = "", ...args] = parts.map(String);
    return await this.#wire.call(name, ...args);
  }

  /** How many commands of these names the server has run so far. */
  async calls(...names: string[]): Promise<number> {
    const info = String(await this.send("INFO", "commandstats"));
    return names.reduce(
      (sum, name) => sum + Number(new RegExp(`cmdstat_${name}:calls=(\\d+)`).exec(info)?.[1] ?? 0),
      0,
    );
  }

  /** Stops the process; its connections stay open. */
  pause(): void {
    this.#mayChange();
    this.#signal("SIGSTOP");
  }

  resume(): void {
    this.#signal("SIGCONT");
  }

  // Not by child.kill(), which fails a second time in some run-times.
  #signal(signal: "SIGSTOP" | "SIGCONT" | "SIGKILL"): void {
    const pid = this.#child?.pid;
    if (pid !== undefined) process.kill(pid, signal);
  }

  /** Kills the process, as a crash does. The data in memory is lost. */
  async kill(): Promise<void> {
    this.#mayChange();
    await this.#hangUp();
    this.#signal("SIGKILL");
    await this.#exited;
    this.#child = undefined;
  }

  /** The same, synchronously: for the exit handler of a process. */
  end(): void {
    this.#signal("SIGKILL");
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** Cuts all connections, and gives clients the turns that they need to see it: they would show as leaks of the test. */
  async #giveBack(): Promise<void> {
    for (const kind of ["normal", "pubsub"]) await this.send("CLIENT", "KILL", "TYPE", kind, "SKIPME", "yes");
    await this.#hangUp();
    for (let i = 0; i < 5; i++) await new Promise((resolve) => setTimeout(resolve, 0));
  }

  async #hangUp(): Promise<void> {
    if (this.#wire !== undefined) await closeIo(this.#wire);
    this.#wire = undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#isLent) return await this.#giveBack();
    await this.kill();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
