/** Tells the commands of the scripts apart: the only tests that know how their keys and arguments are laid out. */

export type Command = "load" | "acquire" | "adopt" | "release" | "renew" | "verify" | "rate";

export function commandOf(keys: readonly string[], args: readonly string[]): Command {
  const [first = "", second = ""] = args;
  if (keys.length === 0) return "load";
  if (first.startsWith("[[")) return "rate"; // the budgets
  if (/^[mw]\w{21}$/.test(first)) return "verify";
  if (/^[mw]\w{21}\d{9,}$/.test(first)) return "renew";
  if (/^\S+$/.test(first)) return "adopt"; // an id alone; the others begin with a member, which has spaces, or with ""
  return /^\d+$/.test(second) ? "acquire" : "release"; // a time, or the start of the channels
}

/** A renewal: how often `extend()` had set the end of the hold when it was sent, and the milliseconds to set. */
export function renewalOf(arg: string): { extensions: number; ttl: number } {
  return { extensions: Number(arg.slice(22, 30)), ttl: Number(arg.slice(30)) };
}
