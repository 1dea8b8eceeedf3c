/** What the docs tell operators to leave on: a watchdog, metrics, and an open page of the dashboard. */
import { dashboard } from "../../lib/dashboard/mod.ts";
import { metrics, watchdog } from "../../lib/diagnostics/mod.ts";

/** Keeps the last value of each series, as a real meter does. */
export function countingMeter() {
  const series = new Map<string, number>();
  const instrument = (name: string) => {
    const note = (value: number, attributes: object) => void series.set(`${name} ${Object.values(attributes)}`, value);
    return { add: note, record: note };
  };
  return { createHistogram: instrument, createUpDownCounter: instrument, createCounter: instrument };
}

/** Opens a page of the dashboard, which is read until it is disposed of. */
export function openDashboard(): Disposable {
  const show = dashboard();
  const reader = show(new Request("http://localhost/?events=")).body!.getReader();
  (async () => {
    while (!(await reader.read()).done);
  })();
  return show;
}

/** Starts all three. What it returns ends them; calling that again has no effect. */
export function observers(): () => void {
  const all = [watchdog({ report: () => {} }), metrics(countingMeter()), openDashboard()];
  return () => all.forEach((one) => one[Symbol.dispose]());
}
