/** Calls of a language model: a limit of requests a minute and one of tokens a minute, settled after each response. */
import { RateLimiter } from "@interlock/interlock";

const MINUTE = 60_000;

interface Answer {
  readonly text: string;
  readonly tokens: number;
}

/** The model. In a real program this is a `fetch`, and the response shows the tokens that it took. */
async function complete(prompt: string): Promise<Answer> {
  return await Promise.resolve({ text: prompt.toUpperCase(), tokens: prompt.length * 10 });
}

export async function main(print: (line: string) => void = console.log) {
  const model = new RateLimiter([{ limit: 50, interval: MINUTE }, { limit: 1000, interval: MINUTE }], {
    name: "model",
  });
  const [requests, tokens] = model.budgets;

  async function ask(prompt: string, estimate: number): Promise<string> {
    await model.acquire({ permits: [1, estimate] });
    let used = 0; // a call that fails has used none
    try {
      const answer = await complete(prompt);
      used = answer.tokens;
      return answer.text;
    } finally {
      if (used < estimate) model.reward([0, estimate - used]);
      if (used > estimate) model.penalty([0, used - estimate]);
    }
  }

  await ask("short", 400); // takes 50
  print(`after an estimate of 400 for 50: ${requests!.remaining} requests and ${tokens!.remaining} tokens left`);
  await ask("a prompt that takes more than was thought", 100); // takes 410
  print(`after an estimate of 100 for 410: ${tokens!.remaining} tokens left`);
  print(`a call of 900 tokens has to wait: ${model.retryAfter([1, 900]) > 59_000}`);
}

if (import.meta.main) await main();
