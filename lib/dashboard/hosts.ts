/**
 * The host names under which the page may be read. Without a check, a page of another site could have its own name point
 * to this machine (DNS rebinding) and read this page as one of its own.
 *
 * @module
 */
import { checkName, must } from "../internal/check.ts";

/** This machine. 127.0.0.0/8 is the loopback; browsers resolve names that end in .localhost to it. */
const LOCAL = /^(localhost|.*\.localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

/** Returns whether a request for a host, as in `example.com:8080`, is to be answered. */
export function hostCheck(hosts: readonly string[]): (host: string) => boolean {
  must(Array.isArray(hosts), "hosts", "be an array", hosts);
  const listed = new Set(hosts.map((host, i) => {
    checkName(host, `hosts[${i}]`);
    const name = nameOf(host);
    must(name !== undefined, `hosts[${i}]`, 'be a host name such as "locks.example.com"', host, RangeError);
    return name;
  }));
  return (host) => {
    const name = nameOf(host);
    return name !== undefined && (LOCAL.test(name) || listed.has(name));
  };
}

/** In lower case, without the port and the dot at the end; undefined for what is no host. */
function nameOf(host: string): string | undefined {
  // A character that begins another part of a URL would let a part of the text pass for the host.
  if (!/^[^\s/?#@\\]+$/.test(host) || !URL.canParse(`http://${host}/`)) return undefined;
  return new URL(`http://${host}/`).hostname.replace(/\.$/, "");
}
