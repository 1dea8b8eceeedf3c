/**
 * Loaded before a server: sends SIGTERM to it as many turns of the event loop after its GracefulShutdown was made as
 * INTERRUPT_AFTER says, or once it listens, at the latest.
 */
import process from "node:process";

let left = Number(process.env.INTERRUPT_AFTER);
const turn = setImmediate;

function look() {
  if (process.listenerCount("SIGTERM") === 0) return void turn(look);
  const listens = process.getActiveResourcesInfo().includes("TCPServerWrap");
  if (left-- > 0 && !listens) return void turn(look);
  console.log(listens ? "interrupted: it listens" : "interrupted");
  process.emit("SIGTERM", "SIGTERM");
}
turn(look);
