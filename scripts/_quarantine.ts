/**
 * Tests that fail now and then for a reason that is known and not mended yet. CI tries such a test once more, and says so.
 * An entry is a debt: it names its reason and the day since when it is here.
 */
export const QUARANTINE: readonly {
  readonly file: string;
  readonly test: string;
  readonly reason: string;
  readonly since: string;
}[] = [];
