/**
 * The symbols under which guards are disposed of. Older browsers and the contexts of node:vm in Node 20 and 22 have none;
 * there transpilers look for these.
 *
 * @module
 */

export const DISPOSE: typeof Symbol.dispose = /* @__PURE__ */ wellKnown("dispose") as typeof Symbol.dispose;
export const ASYNC_DISPOSE: typeof Symbol.asyncDispose = /* @__PURE__ */ wellKnown(
  "asyncDispose",
) as typeof Symbol.asyncDispose;

/**
 * For a public class with an asynchronous disposal, whose documentation shows the platform's symbol: where there is none,
 * its method has the name "undefined".
 */
export function setDisposal({ prototype }: { readonly prototype: object }): void {
  if (Symbol.asyncDispose !== undefined) return;
  (prototype as Record<PropertyKey, unknown>)[ASYNC_DISPOSE] = (prototype as { undefined?: unknown }).undefined;
}

function wellKnown(name: "dispose" | "asyncDispose"): symbol {
  return Symbol[name] ?? Symbol.for(`Symbol.${name}`);
}
