/**
 * The one escaping of pages: text of users in HTML and SVG, without a meaning as markup, and without the characters that
 * hide or reorder others.
 *
 * @module
 */
import { visible } from "../internal/check.ts";

/** In an element. */
export function escape(text: string): string {
  return visible(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

/** In an attribute between double quotes. */
export function attribute(text: string): string {
  return escape(text).replaceAll('"', "&quot;");
}
