/** One server that is measured: a process of its own, whose CPU time is the system's count, and its load. */
import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import os from "node:os";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { type ProgramName, startOf } from "../../tests/shutdown/runtimes.ts";

/** Kept-alive connections that the load comes on, and those that the heap is measured with. */
const [CONNECTIONS, IDLE] = [32, 2_000];
const REQUEST = "GET /hello HTTP/1.1\r\nhost: localhost\r\n\r\n";
const ANSWER = "hello\n";

const SERVER = fileURLToPath(new URL("./server.ts", import.meta.url));
const WITH_GC: Partial<Record<ProgramName, string[]>> = { node: ["--expose-gc"], node20: ["--expose-gc"] };

/** All servers run on the last core, where the system can say so: one that is moved finds cold caches. */
const PIN = spawnSync("taskset", ["--version"]).status === 0 ? ["taskset", "-c", String(os.cpus().length - 1)] : [];

export class Contender {
  readonly #child: ChildProcessWithoutNullStreams;
  #text = "";
  #port = 0;
  #sockets: Socket[] = [];

  private constructor(child: ChildProcessWithoutNullStreams) {
    this.#child = child;
    child.stdout.setEncoding("utf8").on("data", (data) => this.#text += data);
    child.stderr.pipe(process.stderr);
  }

  /** A server that has its connections. `name` is one of server.ts. */
  static async start(runtime: ProgramName, kind: "node" | "fetch", name: string): Promise<Contender> {
    const [program, options] = await startOf(runtime, SERVER);
    const [command, ...args] = [...PIN, program, ...WITH_GC[runtime] ?? [], ...options, kind, name];
    const contender = new Contender(spawn(command!, args, { stdio: "pipe" }));
    contender.#port = await contender.#line(/listening on (\d+)/);
    contender.#sockets = await connections(contender.#port, CONNECTIONS);
    return contender;
  }

  /** Sends as many requests; returns the CPU time that they took, in ns. */
  async serve(requests: number): Promise<number> {
    const before = this.#cpuTime();
    await send(this.#sockets, requests);
    return this.#cpuTime() - before;
  }

  /** Bytes of heap for a connection that has had one answer and is silent. */
  async idleHeap(): Promise<number> {
    const before = await this.#heap();
    const idle = await connections(this.#port, IDLE);
    await send(idle, IDLE);
    const bytes = (await this.#heap() - before) / IDLE;
    for (const socket of idle) socket.destroy();
    return bytes;
  }

  kill(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#child.kill("SIGKILL");
  }

  /** Of all threads so far. */
  #cpuTime(): number {
    const tasks = `/proc/${this.#child.pid}/task`;
    return readdirSync(tasks).reduce(
      (sum, id) => sum + Number(readFileSync(`${tasks}/${id}/schedstat`, "utf8").split(" ")[0]),
      0,
    );
  }

  async #heap(): Promise<number> {
    this.#text = "";
    this.#child.stdin.write("\n");
    return await this.#line(/heap (\d+)/);
  }

  async #line(pattern: RegExp): Promise<number> {
    for (;; await new Promise((resolve) => setTimeout(resolve, 5))) {
      const found = pattern.exec(this.#text);
      if (found !== null) return Number(found[1]);
      if (this.#child.exitCode !== null) throw new Error("Cannot measure: the server ended");
    }
  }
}

function connections(port: number, count: number): Promise<Socket[]> {
  const open = () =>
    new Promise<Socket>((resolve, reject) => {
      const socket = connect(port, "127.0.0.1", () => resolve(socket)).once("error", reject);
    });
  return Promise.all(Array.from({ length: count }, open));
}

/** Sends requests over raw connections, one after the other on each; resolves when all are answered. */
async function send(sockets: readonly Socket[], requests: number): Promise<void> {
  let left = requests;
  await Promise.all(sockets.map((socket) =>
    new Promise<void>((resolve, reject) => {
      const next = () => left-- > 0 ? void socket.write(REQUEST) : (socket.removeAllListeners(), resolve());
      socket.on("data", (data) => data.includes(ANSWER) && next()); // on Deno and Bun head and body come together
      socket.once("close", () => reject(new Error("Cannot measure: the server closed a connection")));
      next();
    })
  ));
}
