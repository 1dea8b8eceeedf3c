/** The command of a request, for models in which answers come at once. */
import { Command } from "../../../lib/redis/store/commands.ts";

export function command(): Command {
  return new Command(Infinity, { unanswered() {} });
}
