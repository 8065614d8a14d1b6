# SPDX-License-Identifier: MIT
"""hangdog dump of Python programs: asyncio's tasks, the library's function behind libffi, files by their folder."""

import os
import re
import time

from support_dump import Programs, dump, report_of, thread_of
from support_run import BUILD, main, schema_errors, wait_until

PYTHON = "/usr/bin/python3"
PYTHONS = [PYTHON] + [path for path in (os.path.join(BUILD, "python", v, "bin", "python" + v) for v in ("3.12", "3.13", "3.14"))
                      if os.path.exists(path)]  # scripts/install-pythons
GIO = """
import gi
gi.require_version("Gio", "2.0")
from gi.repository import Gio
def load(name):
    Gio.File.new_for_path(name).load_contents(None)
load("no-writer")
"""
CTYPES = """
import ctypes
def wait_for_card():
    ctypes.CDLL("libpthread.so.0").sem_wait(ctypes.create_string_buffer(64))
wait_for_card()
"""
STUCK = """
import asyncio
async def charge():
    async with lock:
        await asyncio.Event().wait()
async def checkout():
    await charge()
async def main():
    global lock
    lock = asyncio.Lock()
    async with asyncio.TaskGroup() as group:
        for n in range(6):
            group.create_task(checkout(), name="order-%d" % n)
        group.create_task(asyncio.sleep(99))
asyncio.run(main())
"""
AWAITS = """
import asyncio
async def leaf():
    await asyncio.get_running_loop().create_future()
async def one(task):
    await asyncio.shield(task)
async def numbers(task):
    yield 1
    await task
async def main():
    a = asyncio.create_task(leaf(), name="a")
    b = asyncio.create_task(one(a), name="b")
    c = asyncio.create_task(asyncio.wait_for(b, 99), name="c")
    d = asyncio.gather(c, leaf())
    await asyncio.sleep(0.1)
    async for x in numbers(d):
        pass
asyncio.run(main())
"""
LOCKS = """
import asyncio
async def hold(lock, event):
    async with lock:
        await event.wait()
async def want(lock):
    async with lock:
        pass
async def main():
    event, tasks = asyncio.Event(), []
    for i in range(600):
        lock = asyncio.Lock()
        tasks.append(asyncio.create_task(hold(lock, event)))
        await asyncio.sleep(0)
        tasks.append(asyncio.create_task(want(lock)))
    await asyncio.gather(*tasks)
asyncio.run(main())
"""
LAST_THREAD = """
import threading, time
def upload():
    time.sleep(99)
threading.Thread(target=upload, name="uploader").start()
"""
CLOCK = """
import time
def spin():
    while True:
        time.monotonic_ns()
spin()
"""


class Python(Programs):
    def start_python(self, text, name="app.py", python=PYTHON):
        folder = self.make_folder()
        os.mkfifo(os.path.join(folder, "no-writer"))
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return self.start(python, path, cwd=folder)

    def assert_dump(self, program, pattern, *args):
        """The program comes to where the text has this."""
        wait_until(lambda: re.search(pattern, dump(program.pid, *args)), pattern)

    def test_the_librarys_function_is_named_for_libffi(self):
        self.assert_dump(self.start_python(GIO), r"(?m)^  > load +app.py:6 +in g_file_load_contents$")
        self.assert_dump(self.start_python(CTYPES), r"(?m)^  > wait_for_card +app.py:4 +in sem_wait$")

    def test_a_packages_file_has_its_folder(self):
        self.assert_dump(self.start_python("import time; time.sleep(99)", "shop/__main__.py"),
                         r"(?m)^  > <module> +shop/__main__.py:1 +in clock_nanosleep$")

    def test_tasks_that_wait_for_one_lock(self):
        for python in PYTHONS:
            with self.subTest(python):
                program = self.start_python(STUCK, python=python)
                self.assert_dump(program, r"(?m)^event loop of thread %d, 8 tasks$" % program.pid)
                text = dump(program.pid)
                self.assertIn("\n  task Task-1  waits for a TaskGroup\n    > main ", text)
                self.assertRegex(text, r"(?m)^    task order-0  waits for an Event\n      > charge +app.py:5 +in locks.Event.wait\n"
                                       r"        checkout +app.py:7$")
                self.assertRegex(text, r"(?m)^    5 tasks \(order-1 order-2 order-3 ...\)  wait for one Lock, which task order-0 has\n"
                                       r"      > charge +app.py:4 ")
                self.assertRegex(text, r"(?m)^    task Task-\d+  sleeps$")
                self.assertEqual([], schema_errors(report_of(program.pid)))

    def test_who_awaits_whom(self):
        for python in PYTHONS:
            with self.subTest(python):
                program = self.start_python(AWAITS, python=python)
                self.assert_dump(program, r"(?m)^  task Task-1  waits in gather$")
                (loop,) = report_of(program.pid)["event_loops"]
                name = {task["id"]: task["name"] for task in loop["tasks"]}
                awaited_by = {task["name"]: name.get(task.get("awaited_by")) for task in loop["tasks"]}
                self.assertEqual(("b", "c", "Task-1", None), tuple(awaited_by[task] for task in ("a", "b", "c", "Task-1")))
                (main_task,) = [task for task in loop["tasks"] if task["name"] == "Task-1"]
                self.assertEqual(["numbers", "main"], [frame["function"] for frame in main_task["frames"]])

    def test_many_tasks_with_a_lock_each(self):
        program = self.start_python(LOCKS)
        self.assert_dump(program, r"(?m)^\(201 more tasks left out\)$")
        since = time.monotonic()
        self.assertEqual([], schema_errors(report_of(program.pid)))
        self.assertLess(time.monotonic() - since, 10)

    def test_the_thread_that_python_waits_for(self):
        for python in PYTHONS:
            with self.subTest(python):
                program = self.start_python(LAST_THREAD, python=python)
                self.assert_dump(program, r'waits at exit for the end of thread \d+ "uploader", which is in upload \(app.py:4\).*\n  > _shutdown ')
                self.assertRegex(dump(program.pid), r'(?m)^thread \d+ "uploader"  sleeps in clock_nanosleep\b')

    def test_the_kernels_own_module_has_names(self):
        program = self.start_python(CLOCK)

        def in_clock():
            report = report_of(program.pid, "--running")
            frames = thread_of(report, program.pid).get("stack", {"frames": [{}]})["frames"]
            at = frames[0].get("module")
            return at is not None and "vdso" in report["modules"][at]["path"] and frames[0].get("function") == "clock_gettime"
        wait_until(in_clock, "clock_gettime")


if __name__ == "__main__":
    main()
