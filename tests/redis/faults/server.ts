/** Faults of the server. */
import { setTimeout as sleep } from "node:timers/promises";
import { PASSWORD } from "../../_secrets.ts";
import { setClock } from "./_clock.ts";
import { type Scenario, through, TTL, WRITES } from "./_harness.ts";

function stopped(ms: number): Scenario["run"] {
  return through(async ({ server }) => {
    server.pause();
    await sleep(ms);
    server.resume();
  });
}

const restarted = through(async ({ server }) => {
  await server.kill();
  await sleep(200); // the duration of the fault; no check depends on it
  await server.start();
});

function killing(...kinds: string[]): Scenario["run"] {
  return through(async (harness) => {
    for (let i = 0; i < 12; i++) {
      await harness.entries(3);
      for (const kind of kinds) await harness.server.send("CLIENT", "KILL", "TYPE", kind, "SKIPME", "yes");
    }
  });
}

export const server: readonly Scenario[] = [
  { name: "server stopped for less than a lease", fast: true, run: stopped(TTL / 2) },
  { name: "server stopped for longer than a lease", run: stopped(2.5 * TTL) },
  { name: "server killed, back with nothing", lossy: true, fast: true, run: restarted },
  {
    name: "server killed, back with its append-only file",
    args: ["--appendonly", "yes", "--appendfsync", "always"],
    run: restarted,
  },
  {
    name: "scripts flushed",
    run: through(async (harness) => {
      for (let i = 0; i < 20; i++) {
        await harness.entries(3);
        await harness.server.send("SCRIPT", "FLUSH");
      }
    }),
  },
  { name: "clients killed: commands", run: killing("normal") },
  { name: "clients killed: subscribers", run: killing("pubsub") },
  { name: "clients killed: all", run: killing("normal", "pubsub") },
  {
    name: "made a replica, refuses to write, and a master again",
    run: through(async (harness) => {
      await harness.server.send("REPLICAOF", "127.0.0.1", "1");
      await sleep(2 * TTL);
      await harness.server.send("REPLICAOF", "NO", "ONE");
    }),
  },
  {
    name: "scripts forbidden (NOPERM) for a while",
    run: through(async (harness) => {
      await harness.server.send("ACL", "SETUSER", "default", "-evalsha", "-eval");
      await sleep(2 * TTL);
      await harness.server.send("ACL", "SETUSER", "default", "+evalsha", "+eval");
    }),
  },
  {
    name: "an unknown password (NOAUTH) for a while",
    run: through(async (harness) => {
      await harness.server.send("CONFIG", "SET", "requirepass", PASSWORD);
      await harness.server.send("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
      await sleep(2 * TTL);
      await harness.server.send("CONFIG", "SET", "requirepass", "");
    }),
  },
  {
    name: "server killed, loading (LOADING) an old snapshot for two seconds",
    lossy: true,
    args: ["--key-load-delay", "1000", "--loading-process-events-interval-bytes", "1024"],
    run: through(async (harness) => {
      await harness.server.send("EVAL", "for i = 1, 2000 do redis.call('SET', 'other:' .. i, i) end", 0);
      await harness.server.send("SAVE");
      await harness.entries(5);
      await harness.server.kill();
      await harness.server.start(); // comes back once it has loaded
    }),
  },
  {
    name: "the server's clock jumps an hour ahead, back, and an hour behind",
    lossy: true, // at a jump ahead every lease has ended for the server, and not yet for its holder
    fast: true,
    run: async (harness) => {
      await harness.workers(4, "lock", { clock: true });
      let [clock, most] = [0, 0];
      for (const seconds of [3600, 0, -3600, 0]) {
        await harness.entries(20);
        await setClock(harness.server, seconds);
        await harness.recover();
        if (seconds > clock) most += WRITES; // of the one holder whose lease has ended for the server
        clock = seconds;
        const { stale } = harness.figures;
        harness.must(
          stale <= most,
          `${stale} writes with an old token until the jump to ${seconds} s, more than ${most}`,
        );
      }
    },
  },
  {
    name: "a script that hangs (BUSY)",
    args: ["--busy-reply-threshold", "50"],
    run: through(async (harness) => {
      const { backend } = await harness.connect();
      const hangs = backend.eval("while true do end", [], []).catch(() => {});
      await sleep(TTL);
      await harness.server.send("SCRIPT", "KILL");
      await hangs;
    }),
  },
];
