#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Random graphs of up to 8 threads and 8 locks (mutexes and read-write locks): who waits for whom, in the report of a hang and by `hangdog dump`.

    HANGDOG_GRAPHS=200 tests/cli/test_lock_graphs.py      so many graphs; 24 otherwise
"""

import contextlib
import json
import os
import shutil
import subprocess
import tempfile
import time
import unittest
from concurrent.futures import ThreadPoolExecutor

from support_dump import report_of
from support_run import BUILD, SANITIZER, main, schema_errors, wait_until

PROGRAM = os.path.join(BUILD, "tests/programs/lock-graph")
COUNT = int(os.environ.get("HANGDOG_GRAPHS", "24"))


class Graph:
    """One program: the truth, the report of its hang, and what `hangdog dump` says."""

    def __init__(self, seed):
        self.seed = seed
        folder = tempfile.mkdtemp(prefix="hangdog-test-")
        with subprocess.Popen([PROGRAM, folder, str(seed)], stdout=subprocess.PIPE, text=True) as program:
            try:
                self.main = program.pid
                self.waits = {tid: owner for tid, owner in map(self.numbers, iter(program.stdout.readline, "ready\n"))}
                self.invented = set()
                wait_until(lambda: self.first_report(folder), "the report of graph %d" % seed)
                self.read_until_exact(folder)
                self.dump = report_of(program.pid)
            finally:
                program.kill()
        shutil.rmtree(folder, ignore_errors=True)

    def read_until_exact(self, folder):
        """A report is written again while its hang lasts. The first one has the threads that 25 ms allow: on a busy machine
        not all. But none may have an owner that is not one."""
        end = time.monotonic() + 8
        while True:
            self.hang = self.first_report(folder)
            told = {thread["tid"]: thread.get("waits_for_tid") for thread in self.hang["threads"]}
            told[self.main] = self.hang["cause"].get("lock_owner_tid")
            self.invented |= {(tid, owner) for tid, owner in told.items() if owner and self.waits.get(tid) != owner}
            own = self.hang["cause"].get("deadlock", [])
            exact = self.hang_chain() == self.true_chain(self.main) and len(own) == sum(map(len, self.true_ring_of_main()))
            if exact or time.monotonic() > end:
                return
            time.sleep(0.1)

    @staticmethod
    def numbers(line):
        return [int(word) for word in line.split()]

    @staticmethod
    def first_report(folder):
        for name in os.listdir(folder):
            if name.endswith(".json") and not name.startswith("."):
                with contextlib.suppress(FileNotFoundError), open(os.path.join(folder, name), encoding="utf-8") as file:
                    return json.load(file)
        return None

    def chain(self, tid, owner_of):
        """From a thread to one that waits for nobody, or to one that was there before."""
        found = [tid]
        while owner_of(found[-1]) and found.count(found[-1]) == 1:
            found.append(owner_of(found[-1]))
        return found

    def true_chain(self, tid):
        return self.chain(tid, self.waits.get)

    def hang_chain(self):
        threads = {thread["tid"]: thread.get("waits_for_tid") for thread in self.hang["threads"]}
        threads[self.main] = self.hang["cause"].get("lock_owner_tid")
        return self.chain(self.main, threads.get)

    def dump_chain(self, tid):
        return self.chain(tid, {thread["tid"]: thread.get("waits_for_tid") for thread in self.dump["threads"]}.get)

    def waiting(self):
        return [tid for tid, owner in self.waits.items() if owner]

    def true_rings(self):
        return {ring_of(chain) for chain in map(self.true_chain, self.waits) if chain[-1] in chain[:-1]}

    def true_ring_of_main(self):
        """A hang tells the ring that its owner chain ends in."""
        chain = self.true_chain(self.main)
        return {ring_of(chain)} if chain[-1] in chain[:-1] else set()


def ring_of(chain):
    ring = chain[chain.index(chain[-1]):-1]
    return whole_ring(ring)


def whole_ring(ring):
    """The same one wherever it begins."""
    least = ring.index(min(ring))
    return tuple(ring[least:] + ring[:least])


@unittest.skipIf(SANITIZER, "the sanitizer's lock functions have no owner that a call's registers tell")
class LockGraphs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with ThreadPoolExecutor(4) as pool:
            cls.graphs = list(pool.map(Graph, range(1, COUNT + 1)))

    def test_the_owner_chain_of_each_hang(self):
        wrong = ["seed %d: %s, told %s" % (graph.seed, graph.true_chain(graph.main), graph.hang_chain())
                 for graph in self.graphs if graph.true_chain(graph.main) != graph.hang_chain()]
        lengths = [len(graph.true_chain(graph.main)) - 1 for graph in self.graphs]
        print("lock graphs: %d hangs, %d owner chains exact, of 1 to %d owners (mean %.1f)" % (
            COUNT, COUNT - len(wrong), max(lengths), sum(lengths) / COUNT))
        self.assertLessEqual(len(wrong), COUNT // 100, wrong)
        self.assertEqual([], [(graph.seed, graph.invented) for graph in self.graphs if graph.invented])

    def test_the_owner_chain_of_each_thread_by_dump(self):
        wrong = ["seed %d: %s, told %s" % (graph.seed, graph.true_chain(tid), graph.dump_chain(tid))
                 for graph in self.graphs for tid in graph.waits if graph.true_chain(tid) != graph.dump_chain(tid)]
        count = sum(len(graph.waits) for graph in self.graphs)
        print("lock graphs: %d threads by dump, %d wait, %d owner chains exact" % (
            count, sum(len(graph.waiting()) for graph in self.graphs), count - len(wrong)))
        self.assertLessEqual(len(wrong), count // 100, wrong)

    def test_every_ring_is_found_and_none_invented(self):
        true, told, of_main = 0, 0, 0
        for graph in self.graphs:
            with self.subTest(seed=graph.seed):
                rings = graph.true_rings()
                self.assertEqual(rings, {whole_ring(ring) for ring in graph.dump.get("deadlocks", [])})
                true, told = true + len(rings), told + len(graph.dump.get("deadlocks", []))
                own = graph.hang["cause"].get("deadlock", [])
                self.assertEqual(graph.true_ring_of_main(), {whole_ring(own)} if own else set())
                of_main += len(own) != 0
        print("lock graphs: %d rings, %d told by dump; %d told by the report of a hang that leads to one" % (true, told, of_main))
        self.assertGreater(of_main, 0)

    def test_reports_are_of_the_schema(self):
        for graph in self.graphs[:5]:
            self.assertEqual([], schema_errors(graph.hang))
            self.assertEqual("lock", graph.hang["cause"]["kind"])


if __name__ == "__main__":
    main()
