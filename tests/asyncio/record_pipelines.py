"""Runs random producers and consumers of an asyncio.Queue in an asyncio.TaskGroup and writes down what happened: record.py
runs this.

Tasks 0 and 1 produce, tasks 2 and 3 consume. Each waits to be told to go on or to fail: a producer before it puts an item,
a consumer after it has got one. A move tells one task to go on or some to fail, or cancels the parent. After each move everything runs
until nothing can happen any more, and the state is written down: for each task, whether it waits for a move (g), in the
queue (w) or has ended (.), and its last item; then the number of items, and how the group ended. Failures of one move are
sorted: leaving a loop takes a turn of its own in JavaScript.
"""

import asyncio
import json
import platform
import random

PROGRAMS = 200
MOVES = 16


class Failure(Exception):
    pass


class Run:
    def __init__(self, rng):
        self.rng = rng
        self.capacity = rng.choice([0, 1, 1, 2, 3])
        self.queue = asyncio.Queue(self.capacity)
        self.gates = [None] * 4
        self.states = ["w"] * 4
        self.last = ["-"] * 4
        self.items = 0
        self.outcome = "open"

    async def told(self, index):
        self.states[index] = "g"
        self.gates[index] = asyncio.get_running_loop().create_future()
        try:
            if await self.gates[index] == "fail":
                raise Failure(index)
        finally:
            self.gates[index] = None
        self.states[index] = "w"

    async def produce(self, index):
        while True:
            await self.told(index)
            item = self.items
            self.items += 1
            await self.queue.put(item)
            self.last[index] = str(item)

    async def consume(self, index):
        while True:
            self.last[index] = str(await self.queue.get())
            await self.told(index)

    async def task(self, index):
        try:
            await (self.produce if index < 2 else self.consume)(index)
        finally:
            self.states[index] = "."

    async def parent(self):
        try:
            async with asyncio.TaskGroup() as group:
                for index in range(4):
                    group.create_task(self.task(index))
        except BaseExceptionGroup as group:
            self.outcome = "failed " + ",".join(sorted(str(one.args[0]) for one in group.exceptions))
        except asyncio.CancelledError:
            self.outcome = "cancelled"

    def move(self):
        if self.rng.random() < 0.03:
            self.running.cancel()
            return "cancel"
        ready = [index for index, gate in enumerate(self.gates) if gate]
        how = "fail" if self.rng.random() < 0.07 else "go"
        # One at a time goes on: a call of asyncio's may overtake one that was woken in the same turn.
        chosen = self.rng.sample(ready, 2 if how == "fail" and len(ready) > 1 and self.rng.random() < 0.4 else 1)
        for index in chosen:
            self.gates[index].set_result(how)
        return " ".join([how, *map(str, chosen)])

    async def settle(self):
        for _ in range(30):
            await asyncio.sleep(0)
        tasks = " ".join(state + last for state, last in zip(self.states, self.last))
        return f"{tasks} | {self.queue.qsize()} | {self.outcome}"


async def program(seed):
    run = Run(random.Random(seed))
    run.running = asyncio.ensure_future(run.parent())
    await run.settle()
    moves, trace = [], []
    while len(moves) < MOVES and run.outcome == "open":
        moves.append(run.move())
        trace.append(await run.settle())
    run.running.cancel()
    await run.settle()
    return {"capacity": run.capacity, "moves": moves, "trace": trace}


async def main(path):
    lines = [json.dumps({"python": platform.python_version(), "programs": PROGRAMS})]
    for seed in range(PROGRAMS):
        lines.append(json.dumps(await program(seed), separators=(",", ":")))
    with open(path, "w") as out:
        out.write("\n".join(lines) + "\n")
