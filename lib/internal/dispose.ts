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
 * Sets the disposal of a public class, asynchronous and, if it has one, synchronous. Its source uses the platform's
 * symbols, as the documentation shows them; on platforms without the symbols the last such method is named "undefined".
 */
export function setDisposal({ prototype }: { readonly prototype: object }, dispose?: (this: never) => void): void {
  if (Symbol.asyncDispose !== undefined) return;
  const methods = prototype as Record<PropertyKey, unknown>;
  methods[ASYNC_DISPOSE] = methods["undefined"];
  if (dispose !== undefined) methods[DISPOSE] = dispose;
}

function wellKnown(name: "dispose" | "asyncDispose"): symbol {
  return Symbol[name] ?? Symbol.for(`Symbol.${name}`);
}
