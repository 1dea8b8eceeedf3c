/** Clients of WebSockets and of socket.io that say how they were closed. */
import { io } from "socket.io-client";

/** Opens one and sends messages. `answers` is complete when it is closed; `closed` resolves to the code or reason. */
export async function openSocket(kind: string, address: string, messages: readonly string[]) {
  const answers: string[] = [];
  if (kind === "socket.io") {
    const socket = io(`http://127.0.0.1:${address}`, { transports: ["websocket"], reconnection: false });
    socket.on("message", (answer: string) => answers.push(answer));
    await new Promise((resolve) => socket.on("connect", () => resolve(undefined)));
    for (const message of messages) socket.emit("message", message);
    return { answers, closed: new Promise<unknown>((resolve) => socket.on("disconnect", resolve)) };
  }
  const socket = new WebSocket(`ws://127.0.0.1:${address}`);
  socket.onmessage = ({ data }) => answers.push(String(data));
  await new Promise((resolve) => socket.onopen = resolve);
  for (const message of messages) socket.send(message);
  return { answers, closed: new Promise<unknown>((resolve) => socket.onclose = ({ code }) => resolve(code)) };
}
