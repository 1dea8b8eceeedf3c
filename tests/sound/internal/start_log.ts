import type { StartLog } from "../../../lib/internal/start_log.ts";

export function assertSoundStartLog({ times, permits, first, used }: StartLog): void {
  const isOrdered = times.every((time, i) => permits[i]! > 0 && (i === 0 || time >= times[i - 1]!));
  const sum = permits.slice(first).reduce((total, each) => total + each, 0);
  if (isOrdered && sum === used && times.length === permits.length && first <= times.length) return;
  throw new Error(`unsound starts: ${first} of ${times}, ${permits}, ${used} used`);
}
