# SPDX-License-Identifier: MIT
"""A pool whose threads are all busy while the loop waits has a report. A pool with a free thread has none, nor has one that
flows."""

import glob
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest

from support_run import BUILD, HANGDOG, PATIENCE, RealCase, environment, main

POOL = os.path.join(BUILD, "tests/programs/pool")
PYTHON = "/usr/bin/python3"
NODE = shutil.which("node", path="/usr/bin:/usr/local/bin:/bin")
EXECUTOR = """
import asyncio, sys, time
ended = []
from concurrent.futures import ThreadPoolExecutor
def query(s): time.sleep(s)
async def main():
    loop = asyncio.get_running_loop()
    for _ in range(int(sys.argv[2])):
        ended.append(ThreadPoolExecutor(1))
    await asyncio.gather(*[loop.run_in_executor(pool, query, 1) for pool in ended], asyncio.sleep(0.4))
    for pool in ended:
        pool.shutdown()
    pool = ThreadPoolExecutor(2)
    for _ in range(6):
        await asyncio.gather(*[loop.run_in_executor(pool, query, 0.01) for _ in range(3)])
        await asyncio.sleep(0.1)
    await asyncio.gather(*[loop.run_in_executor(pool, query, 1.2) for _ in range(int(sys.argv[1]))])
asyncio.run(main())
"""
KILLED = "import os, signal, threading; threading.Timer(3, os.kill, (os.getpid(), signal.SIGKILL)).start()\n" + EXECUTOR.replace("1.2", "9")
CONSUMER = """
import asyncio, glob, os, queue, threading, time
from concurrent.futures import ThreadPoolExecutor
work = queue.Queue()
def wake_ups():
    return [int(line.split()[1]) for path in glob.glob('/proc/self/task/*/status') for text in [open(path).read()]
            if 'Name:\\thangdog' in text for line in text.splitlines() if line.startswith('voluntary')]
def count():
    time.sleep(3)
    before = wake_ups()
    time.sleep(1.5)
    print(before == wake_ups(), flush=True)
    LOOP.call_soon_threadsafe(queue_more)
    time.sleep(1.2)
    work.put(0)
def queue_more():
    LOOP.run_in_executor(None, DONE.set)
async def main():
    global LOOP, DONE
    LOOP, DONE = asyncio.get_running_loop(), threading.Event()
    LOOP.set_default_executor(ThreadPoolExecutor(1))
    threading.Thread(target=count).start()
    consumer = LOOP.run_in_executor(None, work.get)
    for _ in range(20):
        await asyncio.sleep(0.05)
    await consumer
    await asyncio.sleep(0.2)
asyncio.run(main())
"""
LIBUV = """
const fs = require('fs'), cp = require('child_process');
cp.execSync('mkfifo stuck');
fs.readFile(process.execPath, () => {});
setTimeout(() => {
  const open = [];
  for (let i = 0; i < 4; i++) fs.open('stuck', 'r', (e, fd) => { open.push(fd); });
  cp.spawn('sh', ['-c', 'sleep 1.2; exec 9>stuck; sleep 0.3']).on('exit', () => process.exit(0));
}, 800);
"""


class PoolStall(RealCase):
    def run_it(self, *command, options=()):
        folder = tempfile.TemporaryDirectory(prefix="hangdog-test-")
        self.addCleanup(folder.cleanup)
        self.spool = spool = os.path.join(folder.name, "spool")
        self.done = subprocess.run([HANGDOG, "run", "--spool", spool, *options, "--", *command], cwd=folder.name, text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE, env=environment(),
                                   check=False)
        reports = []
        for path in glob.glob(os.path.join(spool, "*.json")):
            with open(path, encoding="utf-8") as file:
                reports.append(json.load(file))
            self.assert_valid(reports[-1])
        return [r for r in reports if r["kind"] == "pool-stall"], [r for r in reports if r["kind"] == "session"]

    def check(self, stalls, sessions, name, threads, function, lasts=1.2):
        self.assertEqual(1, len(stalls), self.done.stderr)
        stall = stalls[0]
        self.assertTrue(stall["complete"])
        self.assertAlmostEqual(lasts, stall["duration_ns"] / 1e9, delta=0.25)
        self.assertEqual((name, threads), (stall["pool"]["name"], stall["pool"]["threads"]))
        own = [t for t in stall["threads"] if t.get("pool")]
        self.assertEqual(threads, len(own))
        for thread in own:
            self.assertAlmostEqual(lasts, thread["for_ns"] / 1e9, delta=0.3)  # up to the stall's end
        if function:
            self.assertIn(function, [f.get("function") for f in stall["hot_stack"]["frames"]])
        self.assertEqual(1, sessions[0]["session"]["pool_stalls"])
        self.assertEqual(0, sessions[0]["session"]["hangs"])

    def output(self, *argv):
        done = subprocess.run([HANGDOG, *argv, "--spool", self.spool], text=True, capture_output=True, timeout=PATIENCE, env=environment(), check=False)
        self.assertEqual(0, done.returncode, done.stderr)
        return done.stdout

    def test_a_pool_of_the_programs_own(self):
        stalls, sessions = self.run_it(POOL, "3", options=("--loop", "pool"))
        self.check(stalls, sessions, "pool", 3, "read_archive")
        text = self.output("show", "--all", stalls[0]["id"])
        self.assertRegex(text, r'\Apool stall of \S+ s: all 3 threads "pool" in read_archive \(pool\.c:\d+\), pool\[\d+\], ')
        self.assertEqual(3, len(re.findall(r'(?m)^  \d+ "pool" \(pool\)  waits in read, for 1\.\d s$', text)), text)
        text = self.output("show", sessions[0]["id"])
        self.assertRegex(text, r"\Apool\[\d+\] ran for \S+ s: no hang, ")
        self.assertRegex(text, r"(?m)^  1 pool stall, 1\.\d s$")
        self.assertRegex(self.output("list"), r"pool-stall .* read_archive \(pool\.c:\d+\) ")
        self.assertRegex(self.output("stats"), r"(?m)^0 us lost in .*; pool stalls: 1\.\d s\n")  # the loop was not blocked
        weights = self.output("export", "--format", "collapsed", stalls[0]["id"])
        (busy,) = re.findall(r"(?m)^pool;pool;.*;read_archive.* (\d+)$", weights)  # the threads' own stacks, not the loop's
        self.assertAlmostEqual(3.6, int(busy) / 1e9, delta=0.6)
        text = self.output("export", "--format", "text", stalls[0]["id"])
        self.assertNotIn('"main"', text)
        self.assertEqual(3, len(re.findall(r'(?m)^Thread \d+    Thread name "pool"    1\d\d\d ms$', text)), text)

    def test_a_free_thread_is_no_stall(self):
        stalls, _ = self.run_it(POOL, "2", options=("--loop", "pool"))
        self.assertEqual([], stalls)

    def test_a_pool_that_flows_is_no_stall(self):
        stalls, _ = self.run_it(POOL, "3", "flows", options=("--loop", "pool"))
        self.assertEqual([], stalls)

    def test_an_executor_of_python(self):
        stalls, sessions = self.run_it(PYTHON, "-c", EXECUTOR, "3", "0")
        self.check(stalls, sessions, "ThreadPoolExecutor", 2, "query")
        self.assertEqual(1, stalls[0]["pool"]["queued"])

    def test_an_executor_after_many_that_have_ended(self):
        self.check(*self.run_it(PYTHON, "-c", EXECUTOR.replace("1.2", "3"), "3", "17"), "ThreadPoolExecutor", 2, "query", lasts=3)

    def test_a_stall_that_begins_before_its_pool_is_known(self):
        many = "import threading\nfor _ in range(60): threading.Thread(target=threading.Event().wait, daemon=True).start()\n"
        stalls, _ = self.run_it(PYTHON, "-c", many + EXECUTOR.replace("1.2", "6"), "3", "0")
        self.assertEqual([2], [stall["pool"]["threads"] for stall in stalls])

    def test_a_stall_that_comes_again_is_called_a_stall(self):
        stalls, _ = self.run_it(PYTHON, "-c", EXECUTOR.replace("    await asyncio.gather(*[loop.run_in_executor(pool, query, 1.2)",
                                                               "    for _ in 'ab': await asyncio.gather(*[loop.run_in_executor(pool, query, 1.5)"), "3", "0")
        self.assertEqual(2, len(stalls))
        self.assertIn("hangdog: pool stall of", self.done.stderr)
        self.assertIn("\nhangdog: same pool stall again: ", self.done.stderr)

    def test_long_jobs_without_a_queue_are_no_stall(self):
        stalls, _ = self.run_it(PYTHON, "-c", EXECUTOR, "2", "0")
        self.assertEqual([], stalls)

    def test_a_full_pool_without_work_costs_no_wake_up(self):
        stalls, _ = self.run_it(PYTHON, "-c", CONSUMER)
        self.assertEqual("True\n", self.done.stdout)
        self.assertEqual(1, len(stalls), self.done.stderr)
        self.assertAlmostEqual(1.2, stalls[0]["duration_ns"] / 1e9, delta=0.4)  # not since the consumer runs

    def test_threads_that_read_a_device_are_no_stall(self):
        stalls, _ = self.run_it(POOL, "3", "device", options=("--loop", "pool"))
        self.assertEqual([], stalls)

    def test_a_program_that_ends_in_a_stall(self):
        stalls, _ = self.run_it(PYTHON, "-c", KILLED, "3", "0")
        self.assertEqual([False], [s["complete"] for s in stalls], self.done.stderr)
        self.assertRegex(self.done.stderr, r"hangdog: pool stall of at least .* in query \(")
        self.assertRegex(self.done.stderr.splitlines()[-1], r": no hang of 500 ms or more, but 1 pool stall of ")

    @unittest.skipIf(NODE is None, "no node: apt-get install nodejs")
    def test_the_pool_of_libuv(self):
        self.check(*self.run_it(NODE, "-e", LIBUV), "libuv", 4, None)
        self.assertRegex(self.done.stderr, r"pool stall of \S+ s: all 4 threads of libuv's pool in openat of stuck, ")


if __name__ == "__main__":
    main()
