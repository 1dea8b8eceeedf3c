/**
 * Sees the events of a node server before its listeners do, however many there are and whenever they were added, by
 * replacing the server's `emit`.
 *
 * @module
 */

/** The part of an EventEmitter that is used. */
export interface Emitter {
  emit(event: string, ...args: unknown[]): boolean;
}

/** Sees one event. `pass` passes it to the listeners. Returns what `emit` returns. */
export type Interceptor = (event: string, args: unknown[], pass: () => boolean) => boolean;

/** Calls `intercept` for each event of `emitter`. Returns a function that undoes this. */
export function interpose(emitter: Emitter, intercept: Interceptor): () => void {
  const emit = emitter.emit;
  const own = Object.hasOwn(emitter, "emit");
  const replacement = function (this: Emitter, event: string, ...args: unknown[]): boolean {
    return intercept(event, args, () => emit.call(this, event, ...args));
  };
  emitter.emit = replacement;
  return () => {
    // A later replacement, which calls this one, stays.
    if (emitter.emit !== replacement) return;
    if (own) emitter.emit = emit;
    else delete (emitter as Partial<Emitter>).emit;
  };
}
