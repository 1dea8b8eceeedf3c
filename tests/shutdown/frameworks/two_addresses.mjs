/** Loaded before a server: localhost has two addresses, as on most machines. */
import dns from "node:dns";

const { lookup } = dns;
dns.lookup = (host, options, callback) => {
  if (host !== "localhost" || !options.all) return lookup(host, options, callback);
  callback(null, [{ address: "127.0.0.1", family: 4 }, { address: "::1", family: 6 }]);
};
