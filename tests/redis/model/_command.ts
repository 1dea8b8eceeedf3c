/** The command of a request, for models in which answers come at once. */
import { SentCommand } from "../../../lib/redis/store/commands.ts";

export function command(): SentCommand {
  return new SentCommand(Infinity, { unanswered() {} });
}
