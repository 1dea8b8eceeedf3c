/** Runners wait for the start: polling against an Event. */
import { Event } from "@interlock/interlock";
import { setTimeout as sleep } from "node:timers/promises";

const START = 20;

export async function main(print: (line: string) => void = console.log) {
  let started = false, asked = 0;
  const polling = async () => {
    while (!started) {
      asked++;
      await sleep(1);
    }
  };
  setTimeout(() => started = true, START);
  await Promise.all([polling(), polling(), polling()]);
  print(`three that poll asked more than three times: ${asked > 3}`);

  const start = new Event();
  let woken = 0;
  const runner = async () => {
    await start.wait();
    woken++;
  };
  setTimeout(() => start.set(), START);
  await Promise.all([runner(), runner(), runner()]);
  print(`three that wait for an event were woken ${woken} times in all`);
}

if (import.meta.main) await main();
