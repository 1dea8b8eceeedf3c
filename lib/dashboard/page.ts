/**
 * The page: one document that loads nothing else. The server sends its changing parts, and the script inserts them
 * without moving focus or scroll.
 *
 * @module
 */
import { STYLE } from "./style.ts";
import { HEAD } from "./view.ts";

const SCRIPT = `
const byId = (id) => document.getElementById(id);
const shownParts = {};
let source, latest, isPaused = false, selected = "", retryTimer;
try {
  selected = decodeURIComponent(location.hash.slice(1));
} catch { /* a link that was cut */ }

function connect() {
  source?.close();
  clearTimeout(retryTimer);
  const width = Math.max(280, byId("detail").clientWidth - 16);
  source = new EventSource("?" + new URLSearchParams({ events: "", thing: selected, width }));
  source.onopen = () => showState("live");
  source.onerror = () => {
    showState("reconnecting");
    // A refused request, as when too many pages are open, closes the source.
    if (source.readyState === 2) retryTimer = setTimeout(connect, 5000);
  };
  source.onmessage = ({ data }) => {
    latest = { ...latest, ...JSON.parse(data) };
    if (!isPaused) show();
  };
}

function show() {
  for (const [id, html] of Object.entries(latest)) {
    if (shownParts[id] === html) continue;
    shownParts[id] = html;
    const focused = document.activeElement?.id;
    byId(id).innerHTML = html;
    if (focused && focused !== document.activeElement?.id) byId(focused)?.focus({ preventScroll: true });
  }
  const detailLabel = byId("detail").querySelector("h2")?.textContent;
  for (const button of byId("things").querySelectorAll("button")) {
    const isShown = button.dataset.thing === detailLabel;
    button.setAttribute("aria-pressed", isShown);
    button.closest("tr").className = isShown ? "selected" : "";
  }
  // Announced once, because the numbers in the alerts keep changing.
  const count = document.querySelectorAll(".alert").length;
  const words = count === 0 ? "" : count === 1 ? "Deadlock" : count + " deadlocks";
  if (byId("announcement").textContent !== words) byId("announcement").textContent = words;
  document.title = words + (words && " · ") + "Interlock";
}

function showState(words) {
  if (isPaused) words = "paused";
  byId("state").textContent = words;
  byId("state").className = words;
}

byId("pause").onclick = () => {
  isPaused = !isPaused;
  byId("pause").setAttribute("aria-pressed", isPaused);
  showState(source.readyState === 1 ? "live" : "reconnecting");
  if (!isPaused && latest) show();
};
byId("things").onclick = ({ target }) => {
  const thing = target.closest("tr")?.querySelector("button")?.dataset.thing;
  if (thing === undefined) return;
  selected = thing;
  history.replaceState(undefined, "", "#" + encodeURIComponent(thing));
  connect();
};
byId("things").onkeydown = (event) => {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const buttons = [...byId("things").querySelectorAll("button")];
  const next = buttons[buttons.indexOf(document.activeElement) + step];
  if (next === undefined) return;
  event.preventDefault();
  next.focus();
};
let resizeTimer;
addEventListener("resize", () => {
  clearTimeout(resizeTimer);
  resizeTimer = setTimeout(connect, 200);
});
connect();
`;

/** The document. Only scripts with that nonce run, so a name or key can never run a script. */
export function page(nonce: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Interlock</title>
<link rel="icon" href="data:,">
<style>${STYLE}</style>
</head>
<body>
<header>
<h1>Interlock</h1>
<p id="numbers" title="Events are waits, grants and releases."></p>
<p class="controls"><span id="state" role="status">connecting</span>
<button type="button" id="pause" aria-pressed="false">Pause</button></p>
</header>
<main>
<p id="announcement" role="alert"></p>
<div id="alerts"></div>
<table>
<caption>By waiting time <span class="wide none">· p95: 95 % of all waits or holds so far were shorter · Grants so far, with failed waits and lost holds</span></caption>
<thead>${HEAD}</thead>
<tbody id="things"></tbody>
</table>
<div id="detail"></div>
</main>
<footer><p>This page reads only. It shows names, keys and source files of the process: keep it behind authentication.
File and line appear for calls that were made while a watchdog was on.</p></footer>
<noscript>This page is updated by a script.</noscript>
<script nonce="${nonce}">${SCRIPT}</script>
</body>
</html>
`;
}
