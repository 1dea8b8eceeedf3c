/// <reference lib="dom" />
/// <reference lib="dom.iterable" />
/** The page: settings in, a run of a scene, its timeline out. */
import { type Scene, scenes as ownScenes } from "./scenes.ts";
import { type Settings, Stage } from "./stage.ts";
import { tabScenes } from "./tabs.ts";
import { draw, summary } from "../../lib/dashboard/timeline.ts";
import { themed } from "./theme.ts";

const scenes: Readonly<Record<string, Scene>> = { ...ownScenes, ...tabScenes };
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
  byId("no-waiters").hidden = waiting.length > 0;
  if (lostFocus) (waiters.querySelector("button") ?? byId("play")).focus();
}

/** Another primitive, or other settings. */
function choose(next: string): void {
  name = next in scenes ? next : "Lock";
  const { about, code, limit, cancels = "any" } = scenes[name]!;
  byId("about").textContent = about;
  byId("code").textContent = code;
  byId("limit-row").hidden = limit === undefined;
  byId("limit-name").textContent = limit ?? "";
  byId("cancelling").hidden = cancels === "none";
  byId("impatient-row").hidden = cancels !== "any";
  byId<HTMLInputElement>(`choice-${name}`).checked = true;
  history.replaceState(undefined, "", `#${name}`);
  void play();
}

function save(): void {
  const blob = new Blob([drawing], { type: "image/svg+xml" });
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = `${name}.svg`;
  link.click();
  URL.revokeObjectURL(link.href);
}

function addChoice(of: string): void {
  const label = document.createElement("label");
  const input = document.createElement("input");
  Object.assign(input, { type: "radio", name: "primitive", id: `choice-${of}`, value: of });
  input.onchange = () => choose(of);
  const text = document.createElement("span");
  text.textContent = of;
  label.append(input, text);
  byId("choices").append(label);
}

byId("unbuilt").remove();
Object.keys(scenes).forEach(addChoice);
for (const id of ["tasks", "work", "limit", "impatient"]) {
  const input = byId<HTMLInputElement>(id);
  const showValue = () => {
    const output = document.querySelector(`output[for="${id}"]`);
    if (output !== null) output.textContent = id === "work" ? `${input.value} ms` : input.value;
  };
  showValue();
  input.oninput = showValue;
  input.onchange = () => void play();
}
byId("play").onclick = () => void play();
byId("save").onclick = save;
addEventListener("hashchange", () => choose(location.hash.slice(1)));
addEventListener("resize", () => stage !== undefined && show(stage));
choose(location.hash.slice(1));
