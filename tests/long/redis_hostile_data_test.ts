/** Random bytes in every key of every body over Redis, more than 10,000 rounds; see tests/redis/_hostile.ts. */
import { hostileBodies, hostileRounds } from "../redis/_hostile.ts";
import { redisTest } from "../redis/_clients.ts";
import { seeded } from "../_tools.ts";

/** Rounds for each of the 21 keys. */
const ROUNDS = 500;

for (const body of hostileBodies) {
  redisTest(
    `random bytes, ${ROUNDS} rounds a key: ${body.name}`,
    (setup) => seeded((random) => hostileRounds(setup, body, ROUNDS, random.below(2 ** 30), 50)),
  );
}
