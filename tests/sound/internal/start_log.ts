import type { WindowLog } from "../../../lib/internal/start_log.ts";

export function assertSoundWindowLog({ starts = [], first, used }: WindowLog): void {
  const isStart = (_: number, i: number) => i % 2 === 1 ? starts[i]! > 0 : i === 0 || starts[i]! >= starts[i - 2]!;
  const sum = starts.reduce((total, each, i) => i >= first && i % 2 === 1 ? total + each : total, 0);
  if (starts.every(isStart) && sum === used && starts.length % 2 === 0 && first <= starts.length) return;
  throw new Error(`unsound starts: from ${first} of ${starts}, ${used} used`);
}
