/**
 * A live page about all waits and holds, for a fetch-style server. It uses public members of `./diagnostics` only.
 *
 * @module dashboard
 */
export { type Dashboard, dashboard, type DashboardOptions } from "./dashboard.ts";
