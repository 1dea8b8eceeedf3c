/** Real proxies, each with two upstreams, in a folder of their own and on a free port. */
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { freePort } from "../../_ports.ts";
import { started } from "../round.ts";

/** A proxy that is listening. */
export interface Proxy {
  port: number;
  /** ms after which it uses an upstream again that has refused a connection. */
  recovers: number;
  stop(): Promise<void>;
}

/**
 * "nginx max_fails" and "haproxy retry-on" are set up as docs/operating.md recommends; "nginx keepalive" also keeps
 * connections to its upstreams alive, as its own documentation recommends.
 */
export type ProxyName = keyof typeof KINDS;

/** Debian's default configuration, apart from the paths: balancing, retries and time-outs are nginx's own. */
const nginxConfig = (port: number, upstreams: readonly number[], server = "", pool = "", headers = "") => `
${process.getuid?.() === 0 ? "user root;" : ""}
daemon off;
worker_processes auto;
pid nginx.pid;
error_log error.log;
events { worker_connections 768; }
http {
  access_log off;
  ${["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map((name) => `${name}_temp_path ${name};`).join(" ")}
  upstream app { ${upstreams.map((upstream) => `server 127.0.0.1:${upstream} ${server};`).join(" ")} ${pool} }
  server {
    listen 127.0.0.1:${port};
    location / { proxy_pass http://app; ${headers} }
  }
}
`;

/** Debian's defaults with health checks and \`redispatch\`, without which HAProxy retries the server that refused. */
const haproxyConfig = (port: number, upstreams: readonly number[], retries = "") => `
defaults
  mode http
  timeout connect 5000
  timeout client 50000
  timeout server 50000
  option redispatch 1
frontend all
  bind 127.0.0.1:${port}
  default_backend app
backend app
  ${retries}
${upstreams.map((upstream, i) => `  server s${i} 127.0.0.1:${upstream} check inter 500\n`).join("")}
`;

const maxFailsConfig = (port: number, upstreams: readonly number[]) => nginxConfig(port, upstreams, "max_fails=0");

const keepAliveConfig = (port: number, upstreams: readonly number[]) =>
  nginxConfig(
    port,
    upstreams,
    "max_fails=0",
    "keepalive 32;",
    'proxy_http_version 1.1; proxy_set_header Connection "";',
  );

const retryConfig = (port: number, upstreams: readonly number[]) =>
  haproxyConfig(
    port,
    upstreams,
    "retry-on conn-failure empty-response\n  http-request disable-l7-retry if METH_POST",
  );

/** nginx counts its 10 s in whole seconds: one that refused late in a second is used after 10 s, an early one after 11. */
const NGINX = { program: "nginx", args: ["-p", ".", "-e", "error.log", "-c"], recovers: 11_000 };

const HAPROXY = { program: "haproxy", args: ["-db", "-f"], recovers: 2_000 };

const KINDS = {
  "nginx": { ...NGINX, config: nginxConfig },
  "nginx max_fails": { ...NGINX, recovers: 0, config: maxFailsConfig },
  "nginx keepalive": { ...NGINX, recovers: 0, config: keepAliveConfig },
  "haproxy": { ...HAPROXY, config: haproxyConfig },
  "haproxy retry-on": { ...HAPROXY, config: retryConfig },
};

/** Starts a proxy in front of these ports. */
export async function startProxy(name: ProxyName, upstreams: readonly number[]): Promise<Proxy> {
  const { config, args, recovers } = KINDS[name];
  const program = programOf(name);
  const [folder, port] = [mkdtempSync(join(tmpdir(), "interlock-proxy-")), await freePort()];
  writeFileSync(join(folder, "proxy.conf"), config(port, upstreams));
  const proxy = started(spawn(program, [...args, join(folder, "proxy.conf")], { cwd: folder }));
  while (!await listens(port)) {
    if (proxy.child.exitCode !== null) throw new Error(`Cannot start ${name}: ${proxy.output.text}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  const stop = async () => {
    process.kill(proxy.child.pid!, "SIGTERM");
    await proxy.ended;
    rmSync(folder, { recursive: true });
  };
  return { port, recovers, stop };
}

/** The path of a proxy's program; the error message says how to install it. */
export function programOf(name: ProxyName): string {
  const { program } = KINDS[name];
  const folders = `${process.env.PATH}:/usr/sbin:/usr/local/sbin`.split(":");
  const path = folders.map((each) => join(each, program)).find(existsSync);
  if (path === undefined) throw new Error(`Cannot find ${program}. Type: sudo apt-get install -y ${program}`);
  return path;
}

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("connect", () => resolve(true)).once("error", () => resolve(false)).once(
      "connect",
      () => socket.destroy(),
    );
  });
}
