/**
 * The live view: server-sent events that say what is in flight, until nothing but the viewers is.
 */
import type { GracefulShutdown } from "../../mod.ts";

/** How often the viewers are told, in ms. */
const EVERY = 100;

/** Makes the route. Its streams are in flight themselves, so they end when, while draining, only they are left. */
export function events(shutdown: GracefulShutdown): () => Response {
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
        const tell = () => {
          controller.enqueue(message("state", state(shutdown, viewers, started)));
          if (shutdown.ready || shutdown.active > viewers) return;
          controller.enqueue(message("drained", {}));
          controller.close();
          leave();
        };
        timer = setInterval(tell, EVERY);
        tell();
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
