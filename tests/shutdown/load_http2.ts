/** One client of node:http2: one session at a time, opened anew once the server has said GOAWAY or closed it. */
import { type ClientHttp2Session, connect, type IncomingHttpHeaders, type IncomingHttpStatusHeader } from "node:http2";

/** What became of a request. */
export interface Exchange {
  /** Undefined if there was no answer. */
  headers: IncomingHttpHeaders & IncomingHttpStatusHeader | undefined;
  text: string;
  /** Why the answer is not whole. */
  error: (Error & { code?: string }) | undefined;
  /** Whether the session had carried another request before. */
  reused: boolean;
}

export class Http2Client {
  readonly #address: string;
  #session: ClientHttp2Session | undefined;
  #error: Error | undefined;
  #used = false;

  constructor(port: number) {
    this.#address = `http://127.0.0.1:${port}`;
  }

  /** Sends a request and waits for the end of its answer. */
  send(path: string, body: Uint8Array | undefined): Promise<Exchange> {
    const session = this.#open();
    const exchange: Exchange = { headers: undefined, text: "", error: undefined, reused: this.#used };
    this.#used = true;
    return new Promise((resolve) => {
      const lost = (error?: Error) => {
        // That of a session is the cause of those of its streams.
        exchange.error ??= (error?.cause ?? this.#error ?? error ?? new Error("closed unanswered")) as Error;
        resolve(exchange);
      };
      try {
        const stream = session.request({ ":method": body === undefined ? "GET" : "POST", ":path": path });
        stream.on("response", (headers) => exchange.headers = headers);
        stream.setEncoding("utf8").on("data", (piece: string) => exchange.text += piece);
        stream.on("end", () => exchange.headers !== undefined && stream.rstCode === 0 ? resolve(exchange) : lost());
        stream.on("error", lost);
        stream.on("close", () => lost());
        stream.end(body);
      } catch {
        lost(); // the session has closed meanwhile
      }
    });
  }

  close(): void {
    this.#session?.destroy();
  }

  #open(): ClientHttp2Session {
    if (this.#session !== undefined) return this.#session;
    this.#error = undefined;
    this.#used = false;
    const session = connect(this.#address);
    const leave = () => {
      if (this.#session === session) this.#session = undefined;
    };
    session.on("error", (error) => {
      if (this.#session === session) this.#error = error;
      leave();
    });
    session.on("goaway", leave);
    session.on("close", leave);
    return this.#session = session;
  }
}
