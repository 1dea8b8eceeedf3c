/// <reference lib="dom" />
/// <reference lib="dom.iterable" />
/** The page: settings in, a run of a scene, its timeline out. */
import { type Scene, scenes as ownScenes } from "./scenes.ts";
import { type Settings, Stage } from "./stage.ts";
import { tabScenes } from "./tabs.ts";
import { draw, summary } from "../../lib/dashboard/timeline.ts";
import { themed } from "./theme.ts";

const scenes: Readonly<Record<string, Scene>> = { ...ownScenes, ...tabScenes };
/** The groups of choices; a scene that none has does not show, which a test finds. */
const GROUPS = {
  "Locks": ["Lock", "TimeoutLock", "RwLock", "KeyedMutex", "lockOnArguments", "acquireAll"],
  "Limits": ["Semaphore", "BoundedSemaphore", "KeyedSemaphore", "Pool", "RateLimiter", "KeyedRateLimiter"],
  "Tasks": ["Event", "SetEvent", "Condition", "Barrier", "Queue", "TaskGroup", "SingleFlight", "shareOnArguments"],
  "Shutdown, tabs": ["GracefulShutdown", "WebLock"],
};
/** The sections of the guide. The others are in primitives.html. */
const SECTIONS: Readonly<Record<string, string>> = {
  Pool: "pool-and-rate-limits.html#pool",
  RateLimiter: "pool-and-rate-limits.html#ratelimiter",
  KeyedRateLimiter: "pool-and-rate-limits.html#keyedratelimiter",
  GracefulShutdown: "shutdown.html#the-sequence",
  WebLock: "web.html",
};
const byId = <E extends HTMLElement>(id: string) => document.getElementById(id) as E;
const chart = byId("chart"), status = byId("status"), waiters = byId("waiters");
let stage: Stage | undefined;
let name = "Lock";
let running = false;
/** The latest drawing, which follows the theme of its viewer. */
let drawing = "";

function settings(): Settings {
  const number = (id: string) => Number(byId<HTMLInputElement>(id).value);
  return {
    tasks: number("tasks"),
    work: number("work"),
    limit: number("limit"),
    impatient: byId<HTMLInputElement>("impatient").checked,
  };
}

/** Plays the chosen scene from the start. */
async function play(): Promise<void> {
  stage?.close();
  const mine = stage = new Stage(settings());
  running = true;
  requestAnimationFrame(frame);
  await scenes[name]!.play(mine);
  if (stage !== mine) return;
  running = false;
  show(mine);
}

function frame(): void {
  if (!running || stage === undefined) return;
  show(stage);
  requestAnimationFrame(frame);
}

function show(shown: Stage): void {
  const ends = shown.lanes.flatMap((
    lane,
  ) => [...lane.spans.map(({ to }) => to ?? 0), ...lane.marks.map(({ at }) => at)]);
  const now = running ? shown.now() : Math.max(0, ...ends);
  const width = Math.max(300, Math.floor(chart.clientWidth));
  const { dots } = scenes[name]!;
  drawing = draw({ title: name, lanes: shown.lanes, now, width, span: 3 * shown.settings.work, dots });
  chart.innerHTML = themed(drawing);
  chart.ariaBusy = String(running);
  const words = summary(name, shown.lanes);
  if (status.textContent !== words) status.textContent = words;
  showWaiters(shown);
}

/** A button for each task that waits: it cancels that wait. The focus stays in the row when its button goes. */
function showWaiters(shown: Stage): void {
  const waiting = running ? shown.lanes.filter((lane) => lane.state === "waits" && shown.controllers.has(lane)) : [];
  const wanted = waiting.map((lane) => lane.label);
  const there = new Map([...waiters.children].map((one) => [(one as HTMLElement).dataset["label"]!, one]));
  let lostFocus = false;
  for (const [label, button] of there) {
    if (wanted.includes(label)) continue;
    lostFocus ||= button === document.activeElement;
    button.remove();
  }
  for (const lane of waiting) {
    if (there.has(lane.label)) continue;
    const button = document.createElement("button");
    button.type = "button";
    button.dataset["label"] = lane.label;
    button.textContent = `✕ ${lane.label}`;
    button.title = `Cancel the wait of ${lane.label}`;
    button.onclick = () => shown.controllers.get(lane)?.abort();
    waiters.append(button);
  }
  byId("cancelling").hidden = waiting.length === 0 || scenes[name]!.cancels === "none";
  if (lostFocus) (waiters.querySelector("button") ?? byId("play")).focus();
}

/** Another primitive, or other settings. */
function choose(next: string): void {
  name = next in scenes ? next : "Lock";
  const { about, limit, cancels = "any" } = scenes[name]!;
  byId("about").textContent = about;
  showCode();
  const section = byId("guide").querySelector("a")!;
  section.href = `/${SECTIONS[name] ?? `primitives.html#${name.toLowerCase()}`}`;
  section.textContent = name;
  byId("guide").hidden = document.querySelector("nav") === null; // only the site has the guide's pages
  byId("limit-row").hidden = limit === undefined;
  byId("limit-name").textContent = limit ?? "";
  byId("impatient-row").hidden = cancels !== "any";
  byId<HTMLInputElement>(`choice-${name}`).checked = true;
  history.replaceState(undefined, "", `#${name}`);
  void play();
}

function showCode(): void {
  const { code } = scenes[name]!;
  byId("code").textContent = typeof code === "string" ? code : code(settings());
}

function save(): void {
  const blob = new Blob([drawing], { type: "image/svg+xml" });
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = `${name}.svg`;
  link.click();
  URL.revokeObjectURL(link.href);
}

function addGroup(title: string, names: readonly string[]): void {
  const group = document.createElement("div");
  const heading = document.createElement("h2");
  heading.textContent = title;
  const choices = document.createElement("div");
  choices.append(...names.filter((one) => one in scenes).map(choice));
  group.append(heading, choices);
  byId("choices").append(group);
}

function choice(of: string): HTMLElement {
  const label = document.createElement("label");
  const input = document.createElement("input");
  Object.assign(input, { type: "radio", name: "primitive", id: `choice-${of}`, value: of });
  input.onchange = () => choose(of);
  const text = document.createElement("span");
  text.textContent = of;
  label.append(input, text);
  return label;
}

byId("unbuilt").remove();
for (const [title, names] of Object.entries(GROUPS)) addGroup(title, names);
for (const id of ["tasks", "work", "limit", "impatient"]) {
  const input = byId<HTMLInputElement>(id);
  const showValue = () => {
    const output = document.querySelector(`output[for="${id}"]`);
    if (output !== null) output.textContent = id === "work" ? `${input.value} ms` : input.value;
  };
  showValue();
  input.oninput = () => {
    showValue();
    showCode();
  };
  input.onchange = () => void play();
}
byId("play").onclick = () => void play();
byId("save").onclick = save;
addEventListener("hashchange", () => choose(location.hash.slice(1)));
addEventListener("resize", () => stage !== undefined && show(stage));
choose(location.hash.slice(1));
