/** TypeScript's helpers for `using` insist on these symbols, which contexts of Node 20 lack. */
Symbol.dispose ??= Symbol.for("Symbol.dispose");
Symbol.asyncDispose ??= Symbol.for("Symbol.asyncDispose");
