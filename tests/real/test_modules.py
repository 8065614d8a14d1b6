# SPDX-License-Identifier: MIT
"""The examples of C++, Qt, SDL, asyncio and the linked waits: built as people build them, each reports its slow request."""

import os
import subprocess
import tempfile

from support_examples import ExampleCase
from support_run import PATIENCE, SOURCE, cached, main_side_by_side


TWICE = """
#include <QtCore/QTimer>
#include <hangdog/qt.hpp>
int main(int argc, char **argv) {
    hangdog::session session;
    QCoreApplication app(argc, argv);
    hangdog::qt_loop first("first"), second("second");
    QTimer::singleShot(20, &app, &QCoreApplication::quit);
    return app.exec() != 0 || !first || second;
}
"""


class Cxx(ExampleCase):
    def test_a_loop_of_ones_own(self):
        hang = self.assert_hang(self.run_it(self.build("loop.cc", "hangdog")), "handle")
        self.assertEqual("slow", hang["label"])


class Qt(ExampleCase):
    def check(self, module, package):
        self.need(module, package)
        program = self.build("qt.cc", "hangdog", module, more=["-fPIC"])
        for env in ({}, {"QT_NO_GLIB": "1"}):
            hang = self.assert_hang(self.run_it(program, env=env), "handle")
            self.assertEqual("slow", hang["label"])

    def test_a_second_watch_watches_nothing(self):
        self.need("Qt5Core", "qtbase5-dev")
        source = self.folder + "/twice.cc"
        with open(source, "w", encoding="utf-8") as file:
            file.write(TWICE)
        self.run_it(self.build(source, "hangdog", "Qt5Core", more=["-fPIC"]), name="twice")

    def test_qt_5(self):
        self.check("Qt5Core", "qtbase5-dev")

    def test_qt_6(self):
        self.check("Qt6Core", "qt6-base-dev")


class Sdl(ExampleCase):
    def test_sdl_2(self):
        self.need("sdl2", "libsdl2-dev")
        hang = self.assert_hang(self.run_it(self.build("sdl.c", "hangdog", "sdl2"), env={"SDL_VIDEODRIVER": "dummy"}), "handle")
        self.assertEqual("slow", hang["label"])


class Waits(ExampleCase):
    def test_a_library_without_a_hook(self):
        self.need("libuv", "libuv1-dev")
        reports = self.run_it(self.build("waits.c", "libuv", "hangdog-waits"))
        self.assert_hang(reports, "handle")
        self.assertEqual(["hang", "session"], sorted(report["kind"] for report in reports))


class Asyncio(ExampleCase):
    EXAMPLE = os.path.join(SOURCE, "examples/asyncio_server.py")

    def module(self):
        """The folder of the installed module; in it, it finds the library next to share/ by itself."""
        return {"PYTHONPATH": os.path.join(self.prefix, cached("CMAKE_INSTALL_DATAROOTDIR"), "hangdog"), "LD_LIBRARY_PATH": ""}

    def test_the_example(self):
        hang = self.assert_hang(self.run_it("/usr/bin/python3", self.EXAMPLE, env=self.module(), name="asyncio_server.py"), "handle")
        self.assertEqual(("slow", "main"), (hang["label"], hang["loop"]["name"]))

    def test_in_a_virtual_environment(self):
        venv = self.folder + "/venv"
        if not os.path.exists("/usr/bin/pip"):
            self.skipTest("pip is not installed; try: apt-get install python3-pip")
        subprocess.run(["/usr/bin/python3", "-m", "venv", "--without-pip", venv], check=True)
        done = subprocess.run(["/usr/bin/pip", "--python", venv + "/bin/python3", "install", "-q", "--no-index", os.path.join(SOURCE, "python")], capture_output=True,
                              text=True, timeout=PATIENCE, check=False)
        self.assertEqual(0, done.returncode, done.stderr)
        version = subprocess.run([venv + "/bin/python3", "-c", "import hangdog; print(hangdog.__version__)"], capture_output=True, text=True, check=True)
        self.assertEqual(self.flags("--modversion", "hangdog"), version.stdout.split())
        self.assert_hang(self.run_it(venv + "/bin/python3", self.EXAMPLE, name="asyncio_server.py"), "handle")

    def run_script(self, text, *words, expected_error="", env=None):
        """Its reports but the session's; the script's name is app.py."""
        folder = tempfile.mkdtemp(dir=self.folder)
        path = os.path.join(folder, "app.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write("import asyncio, sys, time, hangdog\n" + text)
        reports = self.run_it("/usr/bin/python3", path, *words, env={**self.module(), **(env or {})}, name="app.py", expected_error=expected_error)
        return [report for report in reports if report["kind"] != "session"]

    def need_uvloop(self):
        if subprocess.run(["/usr/bin/python3", "-c", "import uvloop"], check=False, stderr=subprocess.DEVNULL).returncode != 0:
            self.skipTest("uvloop is not installed; try: apt-get install python3-uvloop")

    def test_uvloop_is_not_pinged_between_two_runs(self):
        self.need_uvloop()
        self.assert_silent_between_runs("uvloop")

    def test_uvloop_is_pinged(self):
        self.need_uvloop()
        reports = self.run_script("""
import uvloop
def block(): time.sleep(1.5)
async def main():
    assert hangdog.watch(threshold=0.4)
    await asyncio.sleep(0.7)
    block()
    await asyncio.sleep(0.7)
uvloop.install()
asyncio.run(main())
time.sleep(1)  # no hang: the loop is closed
""")
        hang = self.assert_hang(reports, "block", 1.25)
        self.assertEqual("main", hang["loop"]["name"])

    def assert_silent_between_runs(self, maker):
        self.assertEqual([], self.run_script("""
from %s import new_event_loop
loop = new_event_loop()
assert hangdog.watch(loop, threshold=0.4)
for _ in range(2):
    loop.run_until_complete(asyncio.sleep(0.7))
    time.sleep(0.7)
loop.close()
time.sleep(0.7)
""" % maker))

    def test_a_wait_and_the_time_between_two_runs_of_the_loop_are_no_hangs(self):
        self.assert_silent_between_runs("asyncio")

    def assert_interrupted(self, maker, watch_before, watch_inside=""):
        """Ctrl-C ends a run of the loop: that is no hang, and the next run is watched."""
        reports = self.run_script("""
from %s import new_event_loop
loop = new_event_loop()
def interrupt(): raise KeyboardInterrupt
def block(): time.sleep(1.5)
async def main():
    %s
    loop.call_later(0.7, interrupt)
    await asyncio.sleep(3)
async def again():
    await asyncio.sleep(0.7)
    block()
    await asyncio.sleep(0.7)
%s
try:
    loop.run_until_complete(main())
except KeyboardInterrupt:
    time.sleep(1.5)
loop.run_until_complete(again())
time.sleep(1.5)
""" % (maker, watch_inside or "pass", watch_before))
        self.assert_hang(reports, "block", 1.5 if maker == "asyncio" else 1.25)

    def test_an_interrupted_loop_is_idle(self):
        self.assert_interrupted("asyncio", "assert hangdog.watch(loop, threshold=0.4)")

    def test_so_it_is_when_it_was_watched_in_that_run(self):
        self.assert_interrupted("asyncio", "", "assert hangdog.watch(threshold=0.4)")

    def test_an_interrupted_uvloop_is_idle(self):
        self.need_uvloop()
        self.assert_interrupted("uvloop", "assert hangdog.watch(loop, threshold=0.4)")

    def assert_closed_elsewhere(self, maker, loops, seen):
        """A loop runs in a thread that then ends, and the main thread closes it: the usual end of a loop in the background."""
        reports = self.run_script("""
import gc, threading
from %s import new_event_loop
def block(): time.sleep(1.5)
async def main(loop, blocks):
    assert hangdog.watch(threshold=0.4)
    if blocks:
        await asyncio.sleep(0.7)
        block()
        await asyncio.sleep(0.7)
    loop.stop()
for left in reversed(range(%d)):
    loop = new_event_loop()
    loop.call_soon(lambda: loop.create_task(main(loop, left == 0)))
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    thread.join()
    loop.close()
    loop = None
    gc.collect()
time.sleep(1)  # a ping that is left would come now
""" % (maker, loops))
        self.assert_hang(reports, "block", seen)

    def test_loops_that_another_thread_closes(self):
        self.assert_closed_elsewhere("asyncio", 260, 1.5)  # 256 can be watched at a time

    def test_loops_of_uvloop_that_another_thread_closes(self):
        self.need_uvloop()
        self.assert_closed_elsewhere("uvloop", 10, 1.25)

    def test_a_toolkits_loop_that_waits_outside_of_select(self):
        """As PyGObject's: its selector returns what GLib has waited for."""
        self.assert_hang(self.run_script("""
import select
def block(): time.sleep(1.5)
class Loop(asyncio.SelectorEventLoop):
    def run_forever(self):
        super().run_forever()
    def _run_once(self):
        select.select([self._selector.fileno()], [], [], 0 if self._ready else 1.5)
        self.call_soon(lambda: None)  # so select() returns at once
        super()._run_once()
async def main():
    assert hangdog.watch(threshold=0.6)
    await asyncio.sleep(3)
    block()
    await asyncio.sleep(1)
loop = Loop()
loop.run_until_complete(main())
loop.close()
"""), "block", 1.25)

    def test_a_second_watch_and_empty_texts_break_nothing(self):
        self.assertEqual([], self.run_script("""
async def main():
    first, second = hangdog.watch(version=""), hangdog.watch()
    assert first and not second
    first.label("", "")
    await asyncio.sleep(0.1)
for _ in range(2):
    asyncio.run(main())
"""))

    def test_without_the_library_the_program_runs(self):
        script = """
async def main():
    assert not hangdog.watch(library="/nowhere/libhangdog.so.0")
asyncio.run(main())
"""
        self.assertEqual([], self.run_script(script, expected_error="not watched, since the library was not found: /nowhere/libhangdog"))


if __name__ == "__main__":
    main_side_by_side()
