/** The scripts, explored: the quick version. `deno task explore:redis` goes deeper. */
import assert from "node:assert/strict";
import { PROCESS_LENGTH, type Script, script } from "../../../lib/redis/scripts/script.ts";
import { test } from "../../_test.ts";
import { explore, type Family, type Model } from "./_model.ts";
import { models } from "./_models.ts";

for (const [name, deep] of Object.entries(models(4, 1))) {
  const model = { ...deep, ...deep.failover && { depth: 3 }, ...deep.pause !== undefined && { faults: 0 } };
  test(`model: ${name}`, () => {
    const states = explore(model);
    assert.ok(states > 100, `${states} states`);
  });
}

/** Faults put into the scripts, which the exploration must find. */
const {
  "a lock and 3 clients": lock,
  "a semaphore of 2 and a large request": semaphore,
  "a lock that is handed over": adopted,
  "a lock and a failover": moved,
  "a semaphore of 2 and keys that expire": expiring,
} = models(4, 1) as Record<string, Model>;
/** As one version did: a message that no subscriber of this server received was taken for one that none received. */
const TAKEN_BACK =
  `if other ~= me and call('PUBLISH', channels .. sub(other, 1, ${PROCESS_LENGTH}), format('%s %.0f %.0f', other, fence, now)) == 0 then
  fence, used = fence - 1, used - weight
elseif other == me then mine = fence end`;
const broken: [what: string, model: Model, changes: [text: string, instead: string][], violation: RegExp][] = [
  ["a newcomer overtakes", lock!, [["wanted and not queued and", "wanted and"]], /was passed over/],
  [
    "tokens do not grow",
    lock!,
    [["last < now and now or last < 9007199254740990 and last + 1", "now"], [
      "fence < now and now or fence < 9007199254740990 and fence + 1",
      "now",
    ]],
    /was given to|is no larger/,
  ],
  ["the limit is not kept", semaphore!, [["if used + weight > limit then break end", ""]], /hold together/],
  [
    "a hold that was handed over ends with the release of its first holder",
    { ...adopted!, depth: 5, faults: 0 },
    [["sub(v, 33, 33) .. me ..", "sub(v, 33, 33) .. id .."]],
    /hold together/,
  ],
  ["the head is not served", lock!, [["while ids[i] and used < limit do", "while false do"]], /waits forever/],
  [
    "a holder without a lease gives permits back",
    { ...expiring!, faults: 0 },
    [["if ends > 0 and call('HEXISTS'", "if call('HEXISTS'"]],
    /in use, of holders/,
  ],
  [
    "a token that a replica delivered is given again",
    moved!,
    [["(sub(waiter, 17, 17) ~= 'c' or listeners(other) ~= 0)", "true"], [
      "if other == me then mine = fence else messages[#messages + 1] = { other, fence } end",
      TAKEN_BACK,
    ]],
    /was given to/,
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
