/** The pages of the guide in reading order: titles and files, as the sidebar shows them and llms.txt contains them. */

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
