/** WebSocket clients that say how they were closed. */
import { io } from "socket.io-client";

/** A client that is open and has had an answer. */
export interface OpenSocket<R> {
  /** Why it was closed. */
  closed: Promise<R>;
}

/** Opens a WebSocket of an echo server; `closed` resolves to the close code. */
export async function openWebSocket(url: string): Promise<OpenSocket<number>> {
  const socket = new WebSocket(url);
  const closed = new Promise<number>((resolve) => socket.addEventListener("close", ({ code }) => resolve(code)));
  await new Promise((resolve, reject) => {
    socket.addEventListener("open", () => socket.send("hello"));
    socket.addEventListener("message", resolve);
    socket.addEventListener("error", reject);
  });
  return { closed };
}

/** Opens a client of socket.io; `closed` resolves to its reason. */
export async function openSocketIo(url: string): Promise<OpenSocket<string>> {
  const socket = io(url, { transports: ["websocket"], reconnection: false });
  const closed = new Promise<string>((resolve) => socket.on("disconnect", (reason) => resolve(reason)));
  await new Promise((resolve, reject) => {
    socket.on("connect_error", reject);
    socket.emit("echo", "hello", resolve);
  });
  return { closed };
}
