/**
 * The commands of one step of the event loop go out in few writes: ioredis writes each command alone, a system call
 * each. Invariant: a stream that was corked here is uncorked in the same step.
 *
 * @module
 */

/** The stream of a client's connection. */
export interface Stream {
  cork?(): void;
  uncork?(): void;
}

/** The most commands in one write: the server is to begin while the rest is still being written. */
const MOST = 16;

export class Cork {
  // #stream is corked, for #count commands so far
  #stream: Stream | undefined;
  #count = 0;

  /** To be called before each command, with the stream that it is going to be written to. */
  hold(stream: Stream | null | undefined): void {
    if (this.#stream !== undefined && (this.#stream !== stream || ++this.#count > MOST)) this.#uncork(this.#stream);
    if (this.#stream !== undefined || !stream?.cork) return;
    this.#stream = stream;
    this.#count = 1;
    stream.cork();
    void this.#uncorkSoon(stream);
  }

  /** By `await`: a clock of a test that replaces `queueMicrotask` would keep the commands back. */
  async #uncorkSoon(stream: Stream): Promise<void> {
    await undefined;
    this.#uncork(stream);
  }

  #uncork(stream: Stream): void {
    if (this.#stream !== stream) return;
    this.#stream = undefined;
    stream.uncork?.();
  }
}
