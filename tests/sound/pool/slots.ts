import type { Slots } from "../../../lib/pool/slots.ts";
import { assertSoundCallQueue } from "./call_queue.ts";

export function assertSoundSlots(slots: Slots): void {
  const { active, limit, queue, startWaiter } = slots;
  const waiting = queue.size;
  assertSoundCallQueue(queue);
  const waitsForStart = startWaiter !== undefined;
  const mayWait = active >= limit || waitsForStart;
  const isSound = active >= 0 && (waiting === 0 || mayWait) && (!waitsForStart || waiting > 0);
  if (!isSound) throw new Error(`unsound pool: ${active} active, ${waiting} wait, for a start: ${waitsForStart}`);
}
