/**
 * A live page about everything that waits and holds, for a fetch-style server. It uses public members of `./diagnostics`
 * only.
 *
 * @module
 */
export { type Dashboard, dashboard, type DashboardOptions } from "./dashboard.ts";
