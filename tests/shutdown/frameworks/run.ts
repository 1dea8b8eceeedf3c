/** Starts a file of examples/frameworks, puts it under load, and ends it by SIGTERM. */
import type { Tally } from "../load.ts";
import { freePort } from "../../_ports.ts";
import { signal, start, type Started, startLoad } from "../round.ts";
import type { RuntimeName } from "../runtimes.ts";

/** A server of a framework that is listening. */
export interface FrameworkServer extends Started {
  port: number;
}

/** Starts an example on a free port: that of examples/frameworks, or its copy in another folder. */
export async function startFramework(
  runtime: RuntimeName,
  name: string,
  { folder = "examples/frameworks", args = [], env = {} }: {
    folder?: string;
    args?: readonly string[];
    env?: Record<string, string>;
  } = {},
): Promise<FrameworkServer> {
  const port = await freePort();
  const started = await start(runtime, `${folder}/${name}.ts`, args, { ...env, PORT: String(port) });
  while (!await answers(`http://127.0.0.1:${port}/wait/0`)) {
    if (started.child.exitCode !== null) throw new Error(`It ended: ${started.output.text}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return { ...started, port };
}

/** Whether a server answers with success. */
export async function answers(url: string): Promise<boolean> {
  try {
    const response = await fetch(url, { headers: { connection: "close" } });
    await response.body?.cancel();
    return response.ok;
  } catch {
    return false;
  }
}

/** The outcome of a shutdown under load. */
export interface FrameworkOutcome {
  tally: Tally;
  code: number | null;
  /** ms from the signal to the end of the process. */
  exit: number;
}

/** Loads it, sends it SIGTERM, and waits for its end. */
export async function endUnderLoad(server: FrameworkServer, connections = 40): Promise<FrameworkOutcome> {
  const load = await startLoad({ port: server.port, connections, routes: "wait" });
  await new Promise((resolve) => setTimeout(resolve, 300));
  const signalled = performance.now();
  signal(server, "SIGTERM");
  const { code } = await server.ended;
  const exit = performance.now() - signalled;
  return { tally: await load.tally(), code, exit };
}
