/** Items from producers to consumers. */
import { register, situation } from "./_situation.ts";
import { BareQueue } from "./_floor.ts";
import type { Items } from "./_work.ts";

export const situations = await register([
  situation<Items>({
    name: "queue of 1, a producer and a consumer that wait for each other",
    operation: "item",
    operations: 1000,
    ours: ({ Queue }) => new Queue<number>(1),
    floor: () => new BareQueue(1),
    play: (work, queue) => work.passItems(queue, 1000),
  }),
  ...[100, 10_000].flatMap((waiting) =>
    (["get", "put"] as const).map((first) => {
      const capacity = first === "get" ? Infinity : 1;
      return situation<Items>({
        name: `queue, ${waiting.toLocaleString("en")} calls of ${first} wait`,
        operation: "item",
        operations: waiting,
        ours: ({ Queue }) => new Queue<number>(capacity),
        floor: () => new BareQueue(capacity),
        play: (work, queue) => work.waitForItems(queue, waiting, first),
      });
    })
  ),
]);
