/**
 * A live page about everything that waits and holds, for a fetch-style server. It uses public members of `./diagnostics`
 * only.
 *
 * @module
 */
export { dashboard } from "./dashboard.ts";
export type { Dashboard, DashboardOptions } from "./dashboard.ts";
