/** The pages of the guide in reading order: titles and files. The sidebar shows them, and llms.txt has them one after the other. */

export const guide = [
  ["Getting started", "getting-started"],
  ["Questions", "questions"],
  ["Primitives", "primitives"],
  ["Cancellation", "cancellation"],
  ["Pool and rate limits", "pool-and-rate-limits"],
  ["Shutdown", "shutdown"],
  ["Operating", "operating"],
  ["From one process to many", "web"],
  ["Redis", "redis"],
  ["Running Redis", "running-redis"],
  ["Diagnostics", "diagnostics"],
  ["It hangs", "it-hangs"],
  ["Mistakes", "mistakes"],
  ["Recipes", "recipes"],
  ["Testing", "testing"],
  ["Migrating", "migrating"],
  ["Examples", "examples"],
  ["Reference", "reference"],
] as const;

export const background = [
  ["Run-times", "run-times"],
  ["How it works", "how-it-works"],
  ["Benchmarks", "benchmarks"],
  ["Reliability", "reliability"],
] as const;
