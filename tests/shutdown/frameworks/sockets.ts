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

/** Sends messages to chat.ts; `answers` is complete when the socket is closed, which resolves to the code or reason. */
export async function openChat(kind: string, port: string, messages: readonly string[]) {
  const answers: string[] = [];
  if (kind === "socket.io") {
    const socket = io(`http://127.0.0.1:${port}`, { transports: ["websocket"], reconnection: false });
    socket.on("message", (answer: string) => answers.push(answer));
    await new Promise((resolve) => socket.on("connect", () => resolve(undefined)));
    for (const message of messages) socket.emit("message", message);
    return { answers, closed: new Promise<unknown>((resolve) => socket.on("disconnect", resolve)) };
  }
  const socket = new WebSocket(`ws://127.0.0.1:${port}`);
  socket.onmessage = ({ data }) => answers.push(String(data));
  await new Promise((resolve) => socket.onopen = resolve);
  for (const message of messages) socket.send(message);
  return { answers, closed: new Promise<unknown>((resolve) => socket.onclose = ({ code }) => resolve(code)) };
}
