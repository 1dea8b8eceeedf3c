"""Runs random programs on CPython's asyncio and writes down what happened: `python3 tests/asyncio/record.py` (also for queues and groups).

A program is a few primitives, a few tasks, and a list of moves. A move is one call by one task, or the cancellation of a
task that waits; after each move everything runs until nothing can happen any more, and the state is written down.

Left out, because the contract differs there on purpose:
- cancelling a Condition's wait after its notification: asyncio raises once it has the lock back, and the notification is
  gone; here an abort after the notification changes nothing;
- the index that Barrier.wait returns: after a cancellation asyncio hands out the same one twice, here never.
"""

import asyncio
import json
import pathlib
import platform
import random


PROGRAMS = 600
MOVES = 24
TASKS = 4


class Run:
    """One program, made up while it runs, so that every move is one that its task can make."""

    def __init__(self, rng):
        self.rng = rng
        self.things = {}
        self.tasks = [None] * TASKS  # what each is doing
        self.doing = [None] * TASKS  # the name of that call
        self.last = ["."] * TASKS
        self.notifiable = []  # who waits on the condition, in order

    def make(self):
        makers = {
            "lock": lambda: ("lock", asyncio.Lock()),
            "event": lambda: ("event", asyncio.Event()),
            "semaphore": lambda: (f"semaphore {(n := self.rng.randint(0, 3))}", asyncio.Semaphore(n)),
            "bounded": lambda: (f"bounded {(n := self.rng.randint(1, 3))}", asyncio.BoundedSemaphore(n)),
            "barrier": lambda: (f"barrier {(n := self.rng.randint(1, 3))}", asyncio.Barrier(n)),
        }
        chosen = self.rng.sample(sorted(makers), self.rng.randint(1, 2))
        for kind in chosen:
            text, thing = makers[kind]()
            self.things[text] = thing
        if "lock" in self.things and self.rng.random() < 0.7:
            self.things["condition"] = asyncio.Condition(self.things["lock"])

    def calls(self):
        """What may be called, by name; `n` stands for a number."""
        by_kind = {
            "lock": {"acquire": lambda t: t.acquire(), "release": lambda t: t.release()},
            "semaphore": {"acquire": lambda t: t.acquire(), "release": lambda t: t.release()},
            "bounded": {"acquire": lambda t: t.acquire(), "release": lambda t: t.release()},
            "event": {"wait": lambda t: t.wait(), "set": lambda t: t.set(), "clear": lambda t: t.clear()},
            "barrier": {"wait": lambda t: t.wait(), "reset": lambda t: t.reset(), "abort": lambda t: t.abort()},
            "condition": {
                "wait": lambda t: t.wait(),
                "notify": lambda t: t.notify(),
                "notifyAll": lambda t: t.notify_all(),
            },
        }
        weights = {"acquire": 4, "release": 4, "wait": 4, "reset": 1, "abort": 1}
        return [
            (name, call, fn)
            for name in self.things
            for call, fn in by_kind[name.split()[0]].items()
            for _ in range(weights.get(call, 2))
        ]

    async def move(self):
        waiting = [i for i, task in enumerate(self.tasks) if task and self.cancellable(i)]
        idle = [i for i, task in enumerate(self.tasks) if task is None]
        if waiting and (not idle or self.rng.random() < 0.2):
            index = self.rng.choice(waiting)
            if index in self.notifiable:
                self.notifiable.remove(index)
            self.doing[index] = "cancelled"
            self.tasks[index].cancel()
            return f"{index} cancel"
        if not idle:
            return None
        index = self.rng.choice(idle)
        name, call, fn = self.rng.choice(self.calls())
        thing = self.things[name]
        if name == "condition":
            self.note_condition(index, call)
        self.doing[index] = f"{call} {name}"
        self.tasks[index] = asyncio.ensure_future(self.call(fn, thing))
        return f"{index} {call} {name}"

    async def call(self, fn, thing):
        result = fn(thing)
        if asyncio.iscoroutine(result):
            await result

    def note_condition(self, index, call):
        if not self.things["lock"].locked():
            return
        if call == "wait":
            self.notifiable.append(index)
        else:
            del self.notifiable[: 1 if call == "notify" else len(self.notifiable)]

    def cancellable(self, index):
        doing = self.doing[index]
        return doing != "cancelled" and (doing != "wait condition" or index in self.notifiable)

    async def settle(self):
        for _ in range(30):
            await asyncio.sleep(0)
        for index, task in enumerate(self.tasks):
            if task is None:
                continue
            if not task.done():
                self.last[index] = "w"
                continue
            self.last[index] = "c" if task.cancelled() else "e" if task.exception() else "."
            self.tasks[index] = None
        return "".join(self.last) + " " + " ".join(self.state(name, thing) for name, thing in self.things.items())

    def state(self, name, thing):
        living = sum(1 for one in (getattr(thing, "_waiters", None) or ()) if not one.done())
        kind = name.split()[0]
        if kind == "lock":
            return f"{int(thing.locked())}/{living}"
        if kind in ("semaphore", "bounded"):
            return f"{thing._value}/{living}"
        if kind == "event":
            return f"{int(thing.is_set())}/{living}"
        if kind == "condition":
            return f"{living}"
        return f"{int(thing.broken)}/{thing.n_waiting}"

    async def end(self):
        for task in self.tasks:
            if task:
                task.cancel()
        for _ in range(5):
            lock = self.things.get("lock")
            if lock and lock.locked():
                lock.release()
            for _ in range(30):
                await asyncio.sleep(0)


async def program(seed):
    run = Run(random.Random(seed))
    run.make()
    moves, trace = [], []
    for _ in range(MOVES):
        move = await run.move()
        if move is None:
            break
        moves.append(move)
        trace.append(await run.settle())
    await run.end()
    return {"things": list(run.things), "moves": moves, "trace": trace}


async def main(path):
    lines = [json.dumps({"python": platform.python_version(), "programs": PROGRAMS})]
    for seed in range(PROGRAMS):
        lines.append(json.dumps(await program(seed), separators=(",", ":")))
    with open(path, "w") as out:
        out.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    import record_groups, record_pipelines, record_queues

    folder = pathlib.Path(__file__).parent
    asyncio.run(main(folder / "traces.jsonl"))
    asyncio.run(record_queues.main(folder / "queue_traces.jsonl"))
    asyncio.run(record_groups.main(folder / "group_traces.jsonl"))
    asyncio.run(record_pipelines.main(folder / "pipeline_traces.jsonl"))
