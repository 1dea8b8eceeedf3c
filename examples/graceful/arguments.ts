/** The command line of the three servers. */

/** Its values. */
export interface ServerArguments {
  port: number;
  hostname: string;
  grace: number;
  delay: number;
}

const USAGE = `Usage: graceful_server [--port N] [--hostname NAME] [--grace MS] [--delay MS]
  --port      the port to listen on, 0 for any free one. Default: 8000
  --hostname  the address to listen on. Default: 127.0.0.1
  --grace     ms that a shutdown may take. Default: 10000
  --delay     ms after the signal during which new connections are still accepted. Default: 0`;

/** Reads it; throws a RangeError whose message shows the usage. */
export function serverArguments(given: readonly string[]): ServerArguments {
  const args = given.flatMap((arg) => /^(--\w+)=(.*)$/s.exec(arg)?.slice(1) ?? [arg]);
  const found: ServerArguments = { port: 8000, hostname: "127.0.0.1", grace: 10_000, delay: 0 };
  for (let i = 0; i < args.length; i += 2) {
    const [name = "", value] = [args[i]?.replace(/^--/, ""), args[i + 1]];
    if (!args[i]?.startsWith("--") || !Object.hasOwn(found, name)) {
      throw new RangeError(`Unknown argument ${JSON.stringify(args[i])}\n${USAGE}`);
    }
    if (value === undefined) throw new RangeError(`--${name} needs a value\n${USAGE}`);
    if (name === "hostname") found.hostname = value;
    else found[name as "port" | "grace" | "delay"] = whole(name, value);
  }
  return found;
}

/** The same for a program: a wrong argument is a line on stderr and exit code 2. */
export function argumentsOrExit(args: readonly string[], exit: (code: number) => never): ServerArguments {
  if (args.includes("--help") || args.includes("-h")) {
    console.log(USAGE);
    return exit(0);
  }
  try {
    return serverArguments(args);
  } catch (error) {
    console.error((error as Error).message);
    return exit(2);
  }
}

/** Commands to try, printed at the start. */
export function welcome(url: string, pid: number): string {
  return `Listening on ${url} (open it in a browser)
  curl ${url}slow?ms=5000       something slow
  curl -N ${url}stream          something that streams
  kill -TERM ${pid}                            then watch it drain; twice to force`;
}

function whole(name: string, value: string): number {
  const max = name === "port" ? 65_535 : 2 ** 31 - 1;
  if (/^\d+$/.test(value) && Number(value) <= max) return Number(value);
  throw new RangeError(`--${name} must be a whole number from 0 to ${max}, got ${JSON.stringify(value)}\n${USAGE}`);
}
