"""Runs random programs on CPython's asyncio.TaskGroup and writes down what happened: record.py runs this.

A program is a parent whose block waits until it is told to end or to fail, or is interrupted, and a list of moves: the
parent or a task starts a task, a task ends, fails, or ends its clean-up, the block ends or fails, the parent is cancelled.
Tasks that are cancelled end at once or clean up first, and the clean-up may fail or swallow the cancellation, as in
asyncio's own tests. After each move everything runs until nothing can happen any more, and the state is written down: a
letter for each task, then how the group ended.

The error of the block is written first: asyncio has it behind those of tasks that failed earlier.

Left out, because the contract differs there on purpose: a task that raises CancelledError while the group goes on, which
asyncio ignores.
"""

import asyncio
import json
import platform
import random

PROGRAMS = 600
MOVES = 24


class Failure(Exception):
    pass


class Run:
    def __init__(self, rng):
        self.rng = rng
        self.tasks = []
        self.gates = []
        self.stubborn = []
        self.phase = []  # 0: not started, 1: works, 2: cleans up, 3: over
        self.block = asyncio.get_running_loop().create_future()
        self.outcome = "open"

    async def task(self, index):
        self.phase[index] = 1
        try:
            await self.gates[index]
        except asyncio.CancelledError:
            if not self.stubborn[index]:
                raise
            self.phase[index] = 2
            self.gates[index] = asyncio.get_running_loop().create_future()
            how = await self.gates[index]
            if how == "raise":
                raise
            if how == "fail":
                raise Failure(index)
        finally:
            self.phase[index] = 3

    async def parent(self):
        try:
            async with asyncio.TaskGroup() as group:
                self.group = group
                await self.block
            self.outcome = "ok"
        except asyncio.CancelledError:
            self.outcome = "cancelled"
        except BaseExceptionGroup as group:
            errors = sorted((error.args[0] for error in group.exceptions), key=lambda error: error != "block")
            self.outcome = "failed " + ",".join(map(str, errors))

    def start(self):
        index = len(self.tasks)
        self.gates.append(asyncio.get_running_loop().create_future())
        self.stubborn.append(self.rng.random() < 0.4)
        self.phase.append(0)
        self.tasks.append(None)
        coroutine = self.task(index)
        try:
            self.tasks[index] = self.group.create_task(coroutine)
        except RuntimeError:
            coroutine.close()
        return f"start {'stubborn' if self.stubborn[index] else 'plain'}"

    def move(self):
        works = [i for i, phase in enumerate(self.phase) if phase == 1]
        cleans = [i for i, phase in enumerate(self.phase) if phase == 2]
        moves = ["start"] * 3 + ["end", "cancel"] * (self.rng.random() < 0.3) + ["throw"] * (self.rng.random() < 0.3)
        moves += ["finish", "finish", "fail"] * bool(works) + ["clean"] * 2 * bool(cleans)
        move = self.rng.choice(moves)
        if move == "start":
            return self.start()
        if move == "end":
            if not self.block.done():
                self.block.set_result(None)
            return "end"
        if move == "throw":
            if not self.block.done():
                self.block.set_exception(Failure("block"))
            return "throw"
        if move == "cancel":
            self.parent_task.cancel()
            return "cancel"
        if move == "clean":
            index, how = self.rng.choice(cleans), self.rng.choice(["raise", "fail", "swallow"])
            self.gates[index].set_result(how)
            return f"clean {index} {how}"
        index = self.rng.choice(works)
        if move == "finish":
            self.gates[index].set_result(None)
        else:
            self.gates[index].set_exception(Failure(index))
        return f"{move} {index}"

    async def settle(self):
        for _ in range(40):
            await asyncio.sleep(0)
        return "".join(map(self.letter, self.tasks)) + " " + self.outcome

    def letter(self, task):
        if task is None:
            return "x"
        if not task.done():
            return "w"
        return "c" if task.cancelled() else "e" if task.exception() else "."

    async def finish(self):
        self.parent_task.cancel()
        for _ in range(5):
            for index, gate in enumerate(self.gates):
                if not gate.done():
                    gate.set_result("raise")
            await self.settle()


async def program(seed):
    run = Run(random.Random(seed))
    run.parent_task = asyncio.ensure_future(run.parent())
    await run.settle()
    moves, trace = [], []
    closed = 0
    while len(moves) < MOVES and closed < 2:
        closed += run.outcome != "open"
        moves.append(run.move())
        trace.append(await run.settle())
    await run.finish()
    return {"moves": moves, "trace": trace}


async def main(path):
    lines = [json.dumps({"python": platform.python_version(), "programs": PROGRAMS})]
    for seed in range(PROGRAMS):
        lines.append(json.dumps(await program(seed), separators=(",", ":")))
    with open(path, "w") as out:
        out.write("\n".join(lines) + "\n")
