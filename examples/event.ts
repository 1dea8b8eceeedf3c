/** Runners wait for the start: polling against an Event. */
import { Event } from "@interlock/interlock";
import { setTimeout as sleep } from "node:timers/promises";

/** Resolves when the runners have had time to ask several times, however slow the machine is. */
async function getReady(): Promise<void> {
  for (let i = 0; i < 5; i++) await sleep(1);
}

export async function main(print: (line: string) => void = console.log) {
  let started = false, asked = 0;
  const polling = async () => {
    while (!started) {
      asked++;
      await sleep(1);
    }
  };
  const starting = getReady().then(() => started = true);
  await Promise.all([polling(), polling(), polling(), starting]);
  print(`three that poll asked more than three times: ${asked > 3}`);

  const start = new Event();
  let woken = 0;
  const runner = async () => {
    await start.wait();
    woken++;
  };
  const setting = getReady().then(() => start.set());
  await Promise.all([runner(), runner(), runner(), setting]);
  print(`three that wait for an event were woken ${woken} times in all`);
}

if (import.meta.main) await main();
