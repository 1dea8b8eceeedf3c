/** `.ci/run`, with --nightly for the steps of the night, and --only REGEXP for those whose names match. */
import process from "node:process";
import { gate } from "./_gate.ts";
import { ci, nightly } from "./_steps.ts";

const isNightly = process.argv.includes("--nightly");
const only = process.argv.indexOf("--only");
const steps = (isNightly ? nightly : ci).filter(({ name }) =>
  only < 0 || new RegExp(process.argv[only + 1]!).test(name)
);
/** Seconds: less than half of what CI itself allows. A quiet machine takes 8 minutes. */
const LIMIT = 40 * 60;
process.exit(await gate(steps, isNightly ? Infinity : LIMIT) ? 0 : 1);
