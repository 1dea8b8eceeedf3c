/**
 * The symbols under which guards are disposed of. Older browsers and node:vm contexts in Node 20 and 22 lack the
 * symbols; transpiled code looks for these instead.
 *
 * @module
 */

export const DISPOSE: typeof Symbol.dispose = /* @__PURE__ */ wellKnown("dispose") as typeof Symbol.dispose;
export const ASYNC_DISPOSE: typeof Symbol.asyncDispose = /* @__PURE__ */ wellKnown(
  "asyncDispose",
) as typeof Symbol.asyncDispose;

/**
 * Sets the asynchronous disposal of a public class. Its source uses the platform's symbol, as the documentation shows
 * it; on platforms without the symbol that method is named "undefined".
 */
export function setDisposal({ prototype }: { readonly prototype: object }): void {
  if (Symbol.asyncDispose !== undefined) return;
  (prototype as Record<PropertyKey, unknown>)[ASYNC_DISPOSE] = (prototype as { undefined?: unknown }).undefined;
}

function wellKnown(name: "dispose" | "asyncDispose"): symbol {
  return Symbol[name] ?? Symbol.for(`Symbol.${name}`);
}
