# SPDX-License-Identifier: MIT
#
# An unmodified interpreter that works through a plan, such as "idle:1.5 sleep:2 idle:0.3": each step a callback of its
# loop. Its script prints the same whatever happens, writes how long each step took by its own clock to a file, and
# ends with status 3.

import json
import os
import time

from support_run import Program, Together, state_of, wait_until

STATUS = 3


class Planned(Program):
    """`interpreter SCRIPT TRUTH STEP...` in a folder of its own."""

    def __init__(self, interpreter, script, plan, watched=True):
        self.plan, self.stopped_ns, self.status = plan, None, None
        self.truth_name = "truth"
        super().__init__([*interpreter, script, self.truth_name, *plan], watched=watched)

    def truths(self):
        """(step, ns) of every step so far, by the program's own clock; one that has begun has ns None."""
        try:
            with open(os.path.join(self.folder, self.truth_name), encoding="utf-8") as file:
                lines = [json.loads(line) for line in file if line.endswith("\n")]
        except FileNotFoundError:
            lines = []
        return [(line["step"], line.get("ns")) for line in lines]

    def truth_ns(self, step):
        return [ns for name, ns in self.truths() if name.startswith(step) and ns is not None][-1]

    def begun(self, step):
        return [name for name, _ in self.truths() if name.startswith(step)]


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
    assert state_of(program.process.pid) == ""
    return program


def run_all(interpreter, script, blocking, cpu):
    """What every interpreter has to show, at the same time where that does not cost a processor."""
    def busy_one_after_the_other():
        return [run(interpreter, script, "idle:1.5 %s:2 idle:0.3" % cpu),
                run(interpreter, script, "idle:1.5 %s idle:0.3" % longer(cpu), stop=cpu)]

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
