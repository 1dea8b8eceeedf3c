/** Against the real SDK of OpenTelemetry. */
import assert from "node:assert/strict";
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import { type MeterLike, metrics } from "../../lib/diagnostics/mod.ts";
import { test } from "../_test.ts";
import { FakeTime } from "../_tools.ts";
import { Thing } from "./_tools.ts";

interface Point {
  readonly attributes: Record<string, unknown>;
  readonly value: number | { readonly count: number; readonly sum?: number };
}

/** The collector's view: by instrument, "attributes: value" or "attributes: count × mean". */
async function measured(act: (meter: MeterLike, time: FakeTime) => Disposable | void) {
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 2 ** 31 - 1 });
  const provider = new MeterProvider({ readers: [reader] });
  const time = new FakeTime();
  let measuring: Disposable | void;
  try {
    measuring = act(provider.getMeter("interlock"), time);
  } finally {
    time.restore();
  }
  await provider.forceFlush();
  measuring?.[Symbol.dispose]();
  const all = exporter.getMetrics().at(-1)?.scopeMetrics[0]?.metrics ?? [];
  await provider.shutdown();
  const values: Record<string, string[]> = {};
  for (const { descriptor, dataPoints } of all) values[descriptor.name] = (dataPoints as Point[]).map(inWords);
  return { values, units: Object.fromEntries(all.map(({ descriptor }) => [descriptor.name, descriptor.unit])) };
}

function inWords({ attributes, value }: Point): string {
  const number = typeof value === "number" ? value : `${value.count} in ${value.sum}`;
  return `${Object.values(attributes).join(" ")}: ${number}`;
}

function play(time: FakeTime): void {
  const lock = new Thing("key", "users", "a secret"), first = {}, second = {}, third = {};
  lock.grant(first);
  lock.wait(second);
  lock.wait(third);
  time.advance(500);
  lock.timeOut(third);
  lock.release(first);
  lock.grant(second);
  const event = new Thing("event"), waiter = {};
  event.wait(waiter);
  event.grant(waiter);
  const lease = new Thing("redis-lock", "orders");
  lease.failRenewal();
  lease.failRenewal();
}

test("metrics: names, units, values and attributes", async () => {
  const { values, units } = await measured((meter, time) => {
    const measuring = metrics(meter);
    play(time);
    return measuring;
  });
  assert.deepEqual(units, {
    "interlock.wait.duration": "s",
    "interlock.hold.duration": "s",
    "interlock.waiters": "{waiter}",
    "interlock.holders": "{holder}",
    "interlock.give_ups": "{call}",
    "interlock.renewal_failures": "{renewal}",
  });
  assert.deepEqual(values, {
    "interlock.wait.duration": ["key users: 2 in 0.5", "key users timeout: 1 in 0.5", "event: 1 in 0"],
    "interlock.hold.duration": ["key users: 1 in 0.5"],
    "interlock.waiters": ["key users: 0", "event: 0"],
    "interlock.holders": ["key users: 1"],
    "interlock.give_ups": ["key users timeout: 1"],
    "interlock.renewal_failures": ["redis-lock orders: 2"],
  });
});

test("metrics: names with ids in them become one series, or none", async () => {
  const of = (name: ((name: string) => string | undefined) | undefined) =>
    measured((meter) => {
      const measuring = metrics(meter, { name });
      for (const id of [1, 2, 3]) {
        const lock = new Thing("lock", `order:${id}`), call = {};
        lock.grant(call);
        lock.release(call);
      }
      return measuring;
    }).then(({ values }) => values["interlock.holders"]);
  assert.deepEqual(await of(undefined), ["lock order:1: 0", "lock order:2: 0", "lock order:3: 0"]);
  assert.deepEqual(await of((name) => name.replace(/:.*/, "")), ["lock order: 0"]);
  assert.deepEqual(await of(() => undefined), ["lock: 0"]);
  let count = 0;
  assert.deepEqual(await of(() => `${count++}`), ["lock 0: 0", "lock 1: 0", "lock 2: 0"]); // once for each thing
  const wrong = () =>
    metrics({ createCounter, createHistogram: createCounter, createUpDownCounter: createCounter }, {
      name: "orders" as never,
    });
  assert.throws(wrong, { name: "TypeError", message: 'name must be a function, got "orders"' });
});

const createCounter = () => ({ add() {}, record() {} });

test("metrics: what is no meter is refused", () => {
  for (const wrong of [undefined, null, {}, { createCounter() {} }]) {
    assert.throws(() => metrics(wrong as never), {
      name: "TypeError",
      message: /^meter must be an OpenTelemetry Meter, such as provider\.getMeter\("interlock"\), got/,
    });
  }
});
