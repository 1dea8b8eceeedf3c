/** The scripts, explored: the quick version. `deno task explore redis` goes deeper. */
import assert from "node:assert/strict";
import { type Script, script } from "../../../lib/redis/scripts/script.ts";
import { test } from "../../_test.ts";
import { explore, type Family, type Model, replay } from "./_model.ts";
import { models } from "./_models.ts";

for (const [name, deep] of Object.entries(models(4, 1))) {
  const model = { ...deep, ...deep.failover && { depth: 3 }, ...deep.pause !== undefined && { faults: 0 } };
  test(`model: ${name}`, () => {
    const states = explore(model);
    assert.ok(states > 100, `${states} states`);
  });
}

test("model: a join that runs twice answers the position that it took", () => {
  // With a position of its own invention it would tie with the next waiter, where both come back to the queue.
  const trail = ["time", "2 asks (answerLost)", "1 asks (twice)", "0 asks", "time", "2 asks", "1 asks"];
  replay(models(5, 2)["a semaphore of 2 and keys that expire"]!, trail);
});

/** Faults put into the scripts, which the exploration must find. */
const {
  "a lock and 3 clients": lock,
  "a semaphore of 2 and a large request": semaphore,
  "a lock that is handed over": adopted,
} = models(4, 1) as Record<string, Model>;
const broken: [what: string, model: Model, changes: [text: string, instead: string][], violation: RegExp][] = [
  ["a newcomer overtakes", semaphore!, [[
    "if not joinsQueue and waiting == 0 and",
    "if not joinsQueue and not token and",
  ], [
    "position ~= '' and (waiting > 0 or used",
    "position ~= '' and (used",
  ]], /was passed over/],
  [
    "tokens do not grow",
    lock!,
    [["(fence < now and now or fence < 9007199254740990 and fence + 1", "(now"]],
    /was given to|is no larger/,
  ],
  ["the limit is not kept", semaphore!, [["if used + weight > limit + 0 then break end", ""]], /hold together/],
  [
    "a hold that was handed over ends with the release of its first holder",
    { ...adopted!, depth: 5, faults: 0 },
    [["sub(hold, 1, 17) .. me", "sub(hold, 1, 17) .. id"]],
    /hold together/,
  ],
  [
    "the head is not served",
    lock!,
    [["while waiting > 0 and unfinished == 0", "while false and unfinished == 0"]],
    /waits forever/,
  ],
  [
    "a holder that was killed is not dropped",
    semaphore!,
    [["if ended[1] then", "if false then"]],
    /waits forever/,
  ],
  ["a grant prolongs a life", lock!, [["math.ceil((ends - now) / 1000)", "9000"]], /waits forever/],
  [
    "a release gives permits back that are not counted any more",
    { ...semaphore!, depth: 5, faults: 0 },
    [["if call('ZREM', KEYS[2], m) == 1 then code", "if call('ZREM', KEYS[2], m) then code"], [
      "used, dirty = used - string.match(hold, '^ (%d+) %d+ ', 25), true",
      "used, dirty = used, true",
    ]],
    /in use, of holders/,
  ],
];
for (const [what, model, changes, violation] of broken) {
  test(`model: finds that ${what}`, () => {
    const { acquire, release, adopt } = model.family;
    const change = ({ source }: Script) =>
      script(changes.reduce((text, [before, after]) => text.replaceAll(before, () => after), source));
    for (const [text] of changes) assert.ok([acquire, release, adopt].some(({ source }) => source.includes(text)));
    const family: Family = {
      ...model.family,
      acquire: change(acquire),
      release: change(release),
      adopt: change(adopt),
    };
    assert.throws(() => explore({ ...model, family }), violation);
  });
}
