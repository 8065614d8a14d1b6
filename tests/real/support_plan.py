# SPDX-License-Identifier: MIT
#
# An unmodified interpreter that works through a plan, such as "idle:1.5 sleep:2 idle:0.3": each step a callback of its
# loop. Its script prints the same whatever happens, writes how long each step took by its own clock to a file, and
# ends with status 3.

import json
import os
import time

from support_run import Program, Together, undisturbed, wait_until

STATUS = 3


class Planned(Program):
    """`interpreter SCRIPT TRUTH STEP...` in a folder of its own."""

    def __init__(self, interpreter, script, plan, watched=True):
        self.plan, self.stopped_ns, self.status = plan, None, None
        self.truth_name = "truth"
        super().__init__([*interpreter, script, self.truth_name, *plan], watched=watched)

    def lines(self):
        """(step, when it began, how long it took in ns) by the program's own clock; twice for a step that is done,
        the first time without its duration."""
        try:
            with open(os.path.join(self.folder, self.truth_name), encoding="utf-8") as file:
                lines = [json.loads(line) for line in file if line.endswith("\n")]
        except FileNotFoundError:
            lines = []
        return [(line["step"], line["at"], line.get("ns")) for line in lines]

    def truth_ns(self, step):
        found = [ns for name, _, ns in self.lines() if name.startswith(step) and ns is not None]
        return found[-1] if found else None

    def begun(self, step):
        """When such a step began, by CLOCK_MONOTONIC; None: it has not."""
        found = [at for name, at, _ in self.lines() if name.startswith(step)]
        return found[0] if found else None


def run(interpreter, script, plan, watched=True, stop=None):
    """One plan from beginning to end. `stop`: the step in which the program is stopped for 3 s, once its hang is
    being reported; "idle": once it has idled for 10 s."""
    program = Planned(interpreter, script, plan.split(), watched)
    assert program.pid  # looked up while it runs
    if stop == "idle":
        wait_until(lambda: program.begun("idle:14"), "the long idle step")
        time.sleep(10)
        program.stopped_ns = program.stop_for(3)
    elif stop:
        wait_until(lambda: program.begun(stop), "the step that hangs")
        program.wait_for_hang()
        program.stopped_ns = program.stop_for(3)
    program.status = program.wait()
    return program


def compute(interpreter, script, plan, step, stop):
    """The same for a step that needs a processor: how long it had none is counted."""
    program = Planned(interpreter, script, plan.split())
    wait_until(lambda: program.begun(step), "the step that computes")
    delay_ns = program.delay_ns()
    if stop:
        program.wait_for_hang()
        program.stopped_ns = program.stop_for(3)
    wait_until(lambda: program.truth_ns(step), "the step's end")
    program.starved_ns = program.delay_ns() - delay_ns
    program.status = program.wait()
    return program


def run_all(interpreter, script, blocking, cpu):
    """What every interpreter has to show, at the same time where that does not cost a processor."""
    def busy_one_after_the_other():
        return [undisturbed(compute, interpreter, script, "idle:1.5 %s:2 idle:0.5" % cpu, cpu, False),
                undisturbed(compute, interpreter, script, "idle:1.5 %s idle:0.5" % longer(cpu), cpu, True)]

    every = Together()
    every.start("idle", run, interpreter, script, "idle:0.2 idle:0.2 idle:0.2 idle:14", True, "idle")
    every.start("blocked", run, interpreter, script, "idle:1.5 %s:2 idle:0.3" % blocking)
    every.start("plain", run, interpreter, script, "idle:1.5 %s:2 idle:0.3" % blocking, False)
    every.start("stopped", run, interpreter, script, "idle:1.5 %s:5 idle:0.3" % blocking, True, blocking)
    every.start("cpu", busy_one_after_the_other)
    return every.join()


def longer(cpu):
    """The step with which a program is stopped: work that goes by the clock lasts 3 s longer for it."""
    return cpu + (":5" if cpu == "busy" else ":2")


def close_all(every):
    for result in every.results.values():
        for program in result if isinstance(result, list) else [result]:
            program.close()
