/** The live view: server-sent events with everything in flight, until only these streams are left. */
import type { GracefulShutdown } from "../../mod.ts";
import type { Visits } from "./visitors.ts";

/** ms between two events. */
const EVERY = 100;

/** Makes the route. Its streams are in flight themselves, so during the drain they end when only they are left. */
export function events(shutdown: GracefulShutdown, visits: Visits): () => Response {
  const started = Date.now();
  let viewers = 0;
  return () => {
    let timer: ReturnType<typeof setInterval>;
    const leave = () => {
      clearInterval(timer);
      viewers--;
    };
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        viewers++;
        const send = () => {
          controller.enqueue(message("state", { ...state(shutdown, viewers, started), visits }));
          if (shutdown.ready || shutdown.active > viewers || visits.waiting > 0) return;
          controller.enqueue(message("drained", {}));
          controller.close();
          leave();
        };
        timer = setInterval(send, EVERY);
        send();
      },
      cancel: leave,
    });
    return new Response(body, { headers: { "content-type": "text/event-stream", "cache-control": "no-store" } });
  };
}

function state(shutdown: GracefulShutdown, viewers: number, started: number): object {
  const inFlight: Record<string, number> = {};
  for (const label of shutdown.labels) {
    if (label !== "GET /events") inFlight[label] = (inFlight[label] ?? 0) + 1;
  }
  return { ready: shutdown.ready, inFlight, viewers, uptime: Date.now() - started };
}

function message(event: string, data: object): Uint8Array {
  return new TextEncoder().encode(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
}
