import type { TokenBucket } from "../../../lib/internal/token_bucket.ts";

export function assertSoundTokenBucket({ quota: { limit }, level, recent }: TokenBucket): void {
  if (level <= limit && recent >= 0) return;
  throw new Error(`unsound bucket: ${level} of ${limit}, ${recent} taken in this turn`);
}
