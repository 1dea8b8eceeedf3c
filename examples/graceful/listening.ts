/** The one error of starting a server that its user can mend: the port is taken. It is a line on stderr and exit code 1. */

/** Calls `start`, which begins to listen on `port`. */
export function listenOrExit<S>(port: number, exit: (code: number) => never, start: () => S): S {
  try {
    return start();
  } catch (error) {
    return exitIfTaken(error, port, exit);
  }
}

/** The same for a server that reports it by an event. */
export function exitIfTaken(error: unknown, port: number, exit: (code: number) => never): never {
  const { code, name } = error as { code?: string; name?: string };
  if (code !== "EADDRINUSE" && name !== "AddrInUse") throw error;
  console.error(`Port ${port} is taken. Choose another one with --port; 0 takes any free port.`);
  return exit(1);
}
