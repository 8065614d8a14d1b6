# SPDX-License-Identifier: MIT
"""Reports of hangs in Python: which task of asyncio ran, and for which thread a join waited, also at exit."""

import os

from support_run import BUILD, main, schema_errors
from support_side_by_side import PYTHON, SideBySide

PYTHONS = [PYTHON] + [path for path in (os.path.join(BUILD, "python", v, "bin", "python" + v) for v in ("3.12", "3.13", "3.14"))
                      if os.path.exists(path)]  # scripts/install-pythons
TASKS = """
import asyncio, time
def parse():
    time.sleep(0.9)
async def load():
    await asyncio.sleep(1)
    parse()
async def checkout():
    await asyncio.wait_for(asyncio.create_task(load()), 30)
async def main():
    async with asyncio.TaskGroup() as group:
        group.create_task(checkout(), name="checkout-7")
        group.create_task(asyncio.sleep(2.3))
asyncio.run(main())
"""
LAST_THREAD = """
import asyncio, threading, time
def upload():
    time.sleep(2.5)
async def main():
    await asyncio.sleep(1.2)
    threading.Thread(target=upload, name="uploader").start()
asyncio.run(main())
"""
JOINS = """
import asyncio, threading, time
def index():
    time.sleep(1)
async def main():
    await asyncio.sleep(1)
    thread = threading.Thread(target=index, name="indexer")
    thread.start()
    thread.join()
    await asyncio.sleep(1)
asyncio.run(main())
"""


class Tasks(SideBySide):
    def ran(self, python, text):
        program = self.start([python, "-I", "-c", text], ())
        self.assertEqual(0, program.wait(), program.errors)
        reports = program.reports("hang")
        self.assertEqual(1, len(reports), program.errors)
        self.assertEqual([], schema_errors(reports[0]))
        return program, reports[0]

    def beside_the_running_task_and_its_awaiters(self):
        for python in PYTHONS:
            program, report = self.ran(python, TASKS)
            self.assertRegex(report["task"]["name"], r"^Task-\d+$", python)
            self.assertEqual(["checkout-7", "Task-1"], report["task"]["awaiters"], python)
            self.assertRegex(program.errors, r"\n  task Task-\d+, awaited by checkout-7, by Task-1\n  why  slept ")

    def beside_the_thread_at_exit(self):
        for python in PYTHONS:
            program, report = self.ran(python, LAST_THREAD)
            self.assertRegex(program.errors, r'\n  why  waited at exit for thread \d+ "uploader" to end, which was in\s+upload \(<string>:4\)')
            self.assertRegex(program.errors, r"\n  > _shutdown +threading.py:\d+")
            self.assertNotIn("task", report)

    def beside_a_joined_thread(self):
        for python in PYTHONS:
            program, report = self.ran(python, JOINS)
            self.assertRegex(program.errors, r'\n  why  waited for thread \d+ "indexer" to end, which was in index \(<string>:4\)')
            self.assertEqual({"name": "Task-1", "awaiters": []}, report["task"])
            self.assertNotIn("  task ", program.errors)


if __name__ == "__main__":
    main()
