/** The one start-up error that the user can fix, a port that is in use, is a line on stderr and exit code 1. */

/** Calls `start`, which begins to listen on `port`. */
export function listenOrExit<S>(port: number, exit: (code: number) => never, start: () => S): S {
  try {
    return start();
  } catch (error) {
    return exitIfTaken(error, port, exit);
  }
}

/** As above, for a server that reports the error by an event. */
export function exitIfTaken(error: unknown, port: number, exit: (code: number) => never): never {
  const { code, name } = error as { code?: string; name?: string };
  if (code !== "EADDRINUSE" && name !== "AddrInUse") throw error;
  console.error(`Port ${port} is taken. Choose another one with --port; 0 takes any free port.`);
  return exit(1);
}
