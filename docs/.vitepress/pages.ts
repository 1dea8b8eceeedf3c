/**
 * The pages of the guide in reading order: titles and files, as the sidebar shows them in groups and llms.txt contains
 * them.
 */

export const groups = {
  "Guide": [
    ["Getting started", "getting-started"],
    ["Questions", "questions"],
    ["Primitives", "primitives"],
    ["Cancellation", "cancellation"],
    ["Pool and rate limits", "pool-and-rate-limits"],
    ["Recipes", "recipes"],
    ["Mistakes", "mistakes"],
    ["Testing", "testing"],
    ["Migrating", "migrating"],
    ["Examples", "examples"],
    ["Reference", "reference"],
  ],
  "When it hangs": [
    ["It hangs", "it-hangs"],
    ["Diagnostics", "diagnostics"],
  ],
  "Servers": [
    ["Shutdown", "shutdown"],
    ["Operating", "operating"],
  ],
  "Across processes": [
    ["From one process to many", "web"],
    ["Redis", "redis"],
    ["Running Redis", "running-redis"],
  ],
} as const;

export const guide = Object.values(groups).flat();

/** They stand below "Migrating". */
export const migrating = [
  ["From other locks", "migrating/locks"],
  ["From other pools and limiters", "migrating/pools"],
  ["From other Redis locks", "migrating/redis"],
  ["From other shutdowns", "migrating/shutdown"],
  ["From other languages", "migrating/languages"],
] as const;

export const background = [
  ["Run-times", "run-times"],
  ["How it works", "how-it-works"],
  ["Benchmarks", "benchmarks"],
  ["Reliability", "reliability"],
] as const;
