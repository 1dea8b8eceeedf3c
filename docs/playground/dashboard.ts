/// <reference lib="dom" />
/**
 * The dashboard over a program that runs in the page itself: an order service with a hot lock, a gateway and a pool. The
 * page is that of the real handler; only its EventSource reads the handler's stream without a network.
 */
import { KeyedMutex, Lock, Pool, RateLimiter, RwLock, Semaphore } from "../../mod.ts";
import { dashboard } from "../../lib/dashboard/mod.ts";
import { carried, provideAsyncContext } from "./async_context.ts";
import { themed } from "./theme.ts";

provideAsyncContext(); // so that the dashboard finds deadlocks, as on a server
const ADDRESS = "http://localhost/";
const show = dashboard();

class LocalEventSource {
  onopen: (() => void) | null = null;
  onmessage: ((event: { data: string }) => void) | null = null;
  onerror: (() => void) | null = null;
  readyState = 0;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;

  constructor(url: string) {
    this.#reader = show(new Request(new URL(url, ADDRESS))).body!.getReader();
    void this.#read();
  }

  close(): void {
    this.readyState = 2;
    void this.#reader.cancel();
  }

  async #read(): Promise<void> {
    await Promise.resolve(); // the page sets its callbacks first
    this.readyState = 1;
    this.onopen?.();
    const decoder = new TextDecoder();
    for (;;) {
      const { value, done } = await this.#reader.read();
      if (done) return;
      const [, data] = /^data: (.*)\n\n$/s.exec(decoder.decode(value)) ?? [];
      if (data !== undefined) this.onmessage?.({ data: themed(data) });
    }
  }
}

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms * (0.5 + Math.random())));

/** Calls `visit` again and again, `tasks` at a time. */
function load(tasks: number, visit: (task: number) => Promise<unknown>): void {
  for (let task = 0; task < tasks; task++) {
    void (async () => {
      for (;;) {
        await pause(300);
        await visit(task).catch(() => {});
      }
    })();
  }
}

const catalogue = new RwLock({ name: "catalogue" });
const stock = new Lock({ name: "stock" });
const gateway = new Semaphore(3, { name: "gateway" });
const users = new KeyedMutex<string>({ name: "users" });
const mails = new Pool(4, { name: "mails", rate: new RateLimiter(20, 1000, { name: "mail server" }) });

load(6, () => stock.run(() => pause(80), { timeout: 400 }));
load(8, () => gateway.run(() => pause(200)));
load(6, (task) => users.run(`user ${task % 3}`, () => pause(150)));
load(8, (task) => task === 0 ? catalogue.writer.run(() => pause(120)) : catalogue.reader.run(() => pause(100)));
load(8, () => mails.run(() => pause(120)));

const accounts = [new Lock({ name: "account 1" }), new Lock({ name: "account 2" })] as const;

/** Two transfers in opposite directions: each holds one account and waits for the other, until it times out. */
async function deadlock(): Promise<void> {
  await Promise.allSettled([accounts, accounts.toReversed() as [Lock, Lock]].map(([from, to]) =>
    from.run(async () => {
      const next = carried(() => to.run(() => {}, { timeout: 20_000 }));
      await pause(100);
      await next();
    })
  ));
}

/** The button of this demonstration, in the style of the page's own. */
const BUTTON = `<style>
#deadlock { margin-bottom: 1rem; padding: 0 .9rem; min-height: 2.25rem; border: 1px solid var(--line);
  border-radius: 8px; background: var(--card); }
#deadlock:disabled { color: var(--soft); cursor: default; }
</style>
<button type="button" id="deadlock">Make a deadlock that lasts 20 s</button>`;

const html = await show(new Request(ADDRESS)).text();
Object.assign(globalThis, { EventSource: LocalEventSource });
// The site has put its header into this page.
const nav = document.querySelector("nav")?.outerHTML ?? "";
document.open();
document.write(html.replace("<body>", `<body>${nav}`).replace("</header>", `</header>${BUTTON}`));
document.close();
const button = document.querySelector<HTMLButtonElement>("#deadlock")!;
button.onclick = async () => {
  button.disabled = true;
  await deadlock();
  button.disabled = false;
};
