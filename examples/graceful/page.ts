/** The page at `/`: plain HTML and a few lines of script. */
export const PAGE = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Graceful server</title>
<style>
  :root { color-scheme: light dark; --line: color-mix(in srgb, currentColor 18%, transparent); --hue: 150 }
  body { font: 16px/1.5 system-ui, sans-serif; max-width: 40rem; margin: 0 auto; padding: 1.5rem 1rem 4rem }
  header { display: flex; align-items: center; justify-content: space-between; gap: 1rem }
  h1 { font-size: 1.25rem; margin: 0 }
  h2 { font-size: .85rem; font-weight: 600; opacity: .65; margin: 2rem 0 .5rem }
  #state { padding: .2rem .8rem; border-radius: 99px; background: hsl(var(--hue) 60% 40%); color: #fff; font-size: .9rem }
  body.draining { --hue: 35 } body.gone { --hue: 220 } body.cut { --hue: 0 }
  #count { font-size: 4rem; font-variant-numeric: tabular-nums; line-height: 1.1; margin-top: 1.5rem }
  .row { display: grid; grid-template-columns: 9rem 1fr 3rem; align-items: center; gap: .75rem; padding: .3rem 0 }
  .row span:last-child { text-align: right; font-variant-numeric: tabular-nums }
  .bar { height: .6rem; border-radius: 99px; background: hsl(var(--hue) 60% 45%); transition: width .1s; min-width: .6rem }
  .buttons { display: flex; flex-wrap: wrap; gap: .5rem }
  button { font: inherit; padding: .5rem .9rem; border: 1px solid var(--line); border-radius: .5rem; background: none; color: inherit }
  button:active { background: var(--line) }
  button:disabled { opacity: .4; cursor: not-allowed }
  button.main { background: hsl(var(--hue) 60% 40%); border-color: transparent; color: #fff }
  #log { list-style: none; margin: 0; padding: 0; font: .85rem/1.7 ui-monospace, monospace }
  #log li { border-bottom: 1px solid var(--line); overflow-wrap: anywhere }
  #log .refused { opacity: .6 } #log .lost { color: hsl(0 70% 50%); font-weight: 600 }
</style>
<body>
<header><h1>Graceful server</h1><span id="state" role="status">connecting</span></header>
<div id="count">0</div>
<div id="what">requests in flight</div>
<div id="rows"></div>
<p id="visits">No visitors yet</p>
<h2>Put something in flight</h2>
<div class="buttons">
  <button class="main" data-visitors="50">50 visitors</button>
  <button data-get="/quick">quick</button>
  <button data-get="/slow?ms=5000">slow, 5 s</button>
  <button data-get="/stream?chunks=40&amp;ms=200">stream, 8 s</button>
  <button data-post="1000000">upload, 1 MB</button>
</div>
<h2>Then end it</h2>
<div class="buttons"><button id="down">shut down</button></div>
<p>Or send the process SIGTERM. A second SIGTERM cuts everything that is still in flight.</p>
<h2>Answers to your own requests</h2>
<ul id="log"></ul>
<script>
  const at = (id) => document.getElementById(id);
  const log = (text, kind = "") => {
    const li = document.createElement("li");
    li.textContent = text;
    li.className = kind;
    at("log").prepend(li);
    while (at("log").children.length > 30) at("log").lastChild.remove();
  };
  const show = (kind, text) => { document.body.className = kind; at("state").textContent = text; };
  const end = (kind, text) => {
    source.close();
    show(kind, text);
    for (const button of document.querySelectorAll("button")) button.disabled = true;
  };
  let goneSince = 0;

  const source = new EventSource("/events");
  source.addEventListener("state", ({ data }) => {
    const { ready, inFlight, visits } = JSON.parse(data);
    const all = Object.entries(inFlight).sort();
    if (!ready && !goneSince) goneSince = performance.now();
    show(ready ? "" : "draining", ready ? "serving" : "draining " + ((performance.now() - goneSince) / 1000).toFixed(1) + " s");
    at("down").disabled = !ready;
    const { waiting, answered, refused, lost } = visits;
    if (waiting + answered + refused + lost > 0) {
      at("visits").textContent = "Visitors: " + waiting + " waiting, " + answered + " answered, " + refused + " refused, " + lost + " lost";
    }
    at("count").textContent = all.reduce((sum, [, n]) => sum + n, 0);
    const most = Math.max(10, ...all.map(([, n]) => n));
    at("rows").replaceChildren(...all.map(([label, n]) => {
      const row = document.createElement("div");
      row.className = "row";
      row.append(...["span", "div", "span"].map((tag) => document.createElement(tag)));
      row.children[0].textContent = label;
      row.children[1].className = "bar";
      row.children[1].style.width = 100 * n / most + "%";
      row.children[2].textContent = n;
      return row;
    }));
  });
  source.addEventListener("drained", () => {
    end("gone", "drained");
    at("count").textContent = "0";
    at("rows").replaceChildren();
    at("what").textContent = "requests in flight: all were answered, and the process has ended";
  });
  source.onerror = () => end("cut", "connection lost");

  const send = async (url, options) => {
    const begun = performance.now();
    try {
      const response = await fetch(url, options);
      const body = await response.text();
      const took = Math.round(performance.now() - begun) + " ms";
      log(response.status + " " + url + " " + took + ", " + body.length + " characters", response.ok ? "" : "refused");
    } catch (error) {
      const refused = performance.now() - begun < 50 && goneSince;
      log((refused ? "refused " : "lost ") + url, refused ? "refused" : "lost");
    }
  };
  const upload = (bytes) => send("/upload", { method: "POST", body: new Uint8Array(bytes) });
  document.addEventListener("click", ({ target }) => {
    const { get, post, visitors } = target.dataset;
    if (get) send(get);
    if (post) upload(+post);
    if (visitors) send("/visitors?count=" + visitors, { method: "POST" });
  });
  at("down").addEventListener("click", () => send("/shutdown", { method: "POST" }));
</script>
`;
