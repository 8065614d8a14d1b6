#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Makes the recordings anew: runs real programs under the recorder, drives them, and reduces what they wrote.

  tests/recognition/record.py [--recorder build/tests/libhangdog-recorder.so] [--list] [NAME...]

README.md says what a recording holds. The programs come from: scripts/install-dependencies recognition
"""
import argparse
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.dont_write_bytecode = True
from reduce import reduce_run  # noqa: E402
import plans  # noqa: E402


class Run:
    """One recorded program, and the servers around it, in a folder of its own."""

    def __init__(self, name, recorder):
        self.name = name
        self.recorder = recorder
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix=f"recognition-{name}-"))
        self.log = self.folder / "log"
        self.marks = self.folder / "marks"
        self.marks.touch()
        self.started = []
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "LANG": "C.UTF-8",
            "XDG_RUNTIME_DIR": str(self.folder),
            "PYTHONDONTWRITEBYTECODE": "1",
            "HANGDOG_MARKS": str(self.marks),
        }
        self.folder.chmod(0o700)

    def path(self, name):
        return str(self.folder / name)

    def start(self, argv, **options):
        """A server or a driver: not recorded."""
        options.setdefault("stdout", subprocess.DEVNULL)
        options.setdefault("stderr", subprocess.DEVNULL)
        options.setdefault("stdin", subprocess.DEVNULL)
        env = dict(self.env, **options.pop("env", {}))
        process = subprocess.Popen(argv, env=env, cwd=self.folder, start_new_session=True, **options)
        self.started.append(process)
        return process

    def record(self, argv, **options):
        """The program that is recorded."""
        env = {"LD_PRELOAD": self.recorder, "HANGDOG_RECORD": str(self.log)}
        options["env"] = dict(env, **options.get("env", {}))
        command = " ".join(str(a).replace(str(self.folder), "DIR").replace(str(HERE), "HERE") for a in argv)
        with open(self.path("commands"), "a", encoding="utf-8") as f:
            f.write(command.replace("\n", "; ") + "\n")
        return self.start(argv, **options)

    def commands(self):
        return pathlib.Path(self.path("commands")).read_text(encoding="utf-8").splitlines()

    def mark(self, text):
        with open(self.marks, "a", encoding="ascii") as f:
            f.write(f"{time.monotonic_ns()} {text}\n")

    def pause(self, seconds):
        """Nothing is done for so long: the program idles."""
        time.sleep(seconds)

    def wait_for(self, condition, seconds=60 * plans.SLOWER):
        until = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > until:
                raise TimeoutError(f"{self.name}: what was expected did not come")
            time.sleep(0.02)

    def run(self, argv, seconds=90, **options):
        """Records a program to its end."""
        process = self.record(argv, stderr=open(self.path("stderr"), "w", encoding="utf-8"), **options)
        if process.wait(seconds) != 0:
            with open(self.path("stderr"), encoding="utf-8") as f:
                raise RuntimeError(f"it ended with {process.returncode}: {f.read()[-500:]}")
        return process

    def end(self, process, how=signal.SIGTERM):
        if process.poll() is None:
            process.send_signal(signal.SIGCONT)
            process.send_signal(how)
            try:
                process.wait(60 * plans.SLOWER)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def close(self, keep):
        for process in reversed(self.started):
            self.end(process)
        if not keep:
            shutil.rmtree(self.folder, ignore_errors=True)


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--recorder", default="build/tests/libhangdog-recorder.so")
    arguments.add_argument("--list", action="store_true")
    arguments.add_argument("--keep", action="store_true", help="keep the folder with the whole log")
    arguments.add_argument("--out", default=str(HERE / "recordings"))
    arguments.add_argument("name", nargs="*")
    options = arguments.parse_args()
    import plans_seen  # noqa: F401  pylint: disable=import-outside-toplevel,unused-import  # it imports tests, which import this
    names = options.name or list(plans.PLANS)
    if options.list:
        print("\n".join(names))
        return 0
    failed = []
    for name in names:
        plan = plans.PLANS[name]
        run = Run(name, os.path.abspath(options.recorder))
        try:
            plan.drive(run)
            for process in reversed(run.started):
                run.end(process)
            text = reduce_run(run, plan)
            (pathlib.Path(options.out) / f"{name}.waits").write_text(text, encoding="ascii")
            print(f"{name}: {len(text)} bytes, {text.count(chr(10) + 'w ')} lines of waits", flush=True)
        except Exception as error:  # pylint: disable=broad-except
            print(f"{name}: {type(error).__name__}: {error}", file=sys.stderr)
            failed.append(name)
        finally:
            run.close(options.keep)
            if options.keep:
                print(f"{name}: {run.folder}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
