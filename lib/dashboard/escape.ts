/**
 * Escapes users' text for HTML and SVG: markup, and characters that hide or reorder others.
 *
 * @module
 */
import { visible } from "../internal/check.ts";

/** Escapes text inside an element. */
export function escape(text: string): string {
  return visible(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

/** Escapes text for an attribute in double quotes. */
export function attribute(text: string): string {
  return escape(text).replaceAll('"', "&quot;");
}
