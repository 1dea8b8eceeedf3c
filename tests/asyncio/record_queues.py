"""Runs random programs on CPython's asyncio.Queue and writes down what happened: record.py runs this.

A program is a queue, a few tasks, and a list of moves. A move is one call by one task, or the cancellation of a task that
waits; after each move everything runs until nothing can happen any more, and the state is written down: what each task
does or got, then the number of items, of getters and of putters. `shutdown` came with Python 3.13, so closing is not in these programs.
"""

import asyncio
import json
import platform
import random

PROGRAMS = 400
MOVES = 30
TASKS = 5


class Run:
    def __init__(self, rng):
        self.rng = rng
        self.capacity = rng.choice([0, 1, 1, 2, 3])
        self.queue = asyncio.Queue(self.capacity)
        self.tasks = [None] * TASKS
        self.last = ["."] * TASKS
        self.items = 0

    def move(self):
        waiting = [i for i, task in enumerate(self.tasks) if task]
        idle = [i for i, task in enumerate(self.tasks) if task is None]
        if waiting and (not idle or self.rng.random() < 0.2):
            index = self.rng.choice(waiting)
            self.tasks[index].cancel()
            return f"{index} cancel"
        index = self.rng.choice(idle)
        call = self.rng.choice(["put", "put", "get", "get", "tryPut", "tryGet", "taskDone", "taskDone", "join"])
        self.tasks[index] = asyncio.ensure_future(self.call(call))
        return f"{index} {call}"

    async def call(self, call):
        if call == "taskDone":
            return self.queue.task_done()
        if call == "join":
            return await self.queue.join()
        if call.endswith("ut"):
            item = self.items
            self.items += 1
            return await self.queue.put(item) if call == "put" else self.queue.put_nowait(item)
        return str(await self.queue.get() if call == "get" else self.queue.get_nowait())

    async def settle(self):
        for _ in range(30):
            await asyncio.sleep(0)
        for index, task in enumerate(self.tasks):
            if task is None:
                continue
            if not task.done():
                self.last[index] = "w"
                continue
            self.last[index] = "c" if task.cancelled() else "e" if task.exception() else task.result() or "."
            self.tasks[index] = None
        waiting = [sum(not one.done() for one in ones) for ones in (self.queue._getters, self.queue._putters)]
        return " ".join(self.last) + f" | {self.queue.qsize()} {waiting[0]} {waiting[1]}"

    async def end(self):
        for task in self.tasks:
            if task:
                task.cancel()
        await asyncio.sleep(0)


async def program(seed):
    run = Run(random.Random(seed))
    moves, trace = [], []
    for _ in range(MOVES):
        moves.append(run.move())
        trace.append(await run.settle())
    await run.end()
    return {"capacity": run.capacity, "moves": moves, "trace": trace}


async def main(path):
    lines = [json.dumps({"python": platform.python_version(), "programs": PROGRAMS})]
    for seed in range(PROGRAMS):
        lines.append(json.dumps(await program(seed), separators=(",", ":")))
    with open(path, "w") as out:
        out.write("\n".join(lines) + "\n")
