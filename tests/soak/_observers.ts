/** What the docs tell operators to leave on: a watchdog, metrics, and an open page of the dashboard. */
import { dashboard } from "../../lib/dashboard/mod.ts";
import { metrics, watchdog } from "../../lib/diagnostics/mod.ts";

/** Keeps the last value of each series, as a real meter does. */
function countingMeter() {
  const series = new Map<string, number>();
  const instrument = (name: string) => {
    const note = (value: number, attributes: object) => void series.set(`${name} ${Object.values(attributes)}`, value);
    return { add: note, record: note };
  };
  return { createHistogram: instrument, createUpDownCounter: instrument, createCounter: instrument };
}

/** Starts all three. What it returns ends them; calling that again has no effect. */
export function observers(): () => Promise<void> {
  const watching = watchdog({ report: () => {} });
  const measuring = metrics(countingMeter());
  const show = dashboard();
  const reader = show(new Request("http://localhost/?events")).body!.getReader();
  const reading = (async () => {
    while (!(await reader.read()).done);
  })();
  return async () => {
    watching[Symbol.dispose]();
    measuring[Symbol.dispose]();
    await reader.cancel();
    await reading;
    show[Symbol.dispose]();
  };
}
