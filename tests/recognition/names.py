#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Applies a changed table of src/recognise/known_functions.c to the recordings, by the names of their innermost frames.

ASKS becomes 2 below a loop function, 3 below a request. What the recorder found deeper on the stack stays.
"""
import pathlib
import re

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = (HERE.parents[1] / "src/recognise/known_functions.c").read_text(encoding="ascii")


def table(name):
    return set(re.findall(r'"(\w+)"', re.search(r"#define " + name + r"\(X\)(.*?)/\* clang-format on", SOURCE, re.S)[1]))


REQUESTS, LOOPS = table("REQUESTS"), table("WHOLE_LOOPS") | table("LOOP_TURNS")


def split(frame):
    """A frame's module and function."""
    module, _, name = frame.partition("=")
    return module.partition("+")[0], name


def evidence(frames):
    """As hd_known_function; None: the innermost frames do not say."""
    if any(name in REQUESTS for _, name in frames):
        return "3"
    library = frames[0][0]
    for i, (module, name) in enumerate(frames):
        if module != library and not (library.startswith("libxcb.so") and module.startswith("libX11.so")):
            return None
        if name in LOOPS:
            outside = [f for f in frames[i:] if f[0] != module]
            of_gio = bool(outside) and outside[0][0].startswith("libgio-2.0")
            return "3" if of_gio and not any(name == "g_application_run" for _, name in outside) else "2"
    return None


def main():
    for path in sorted((HERE / "recordings").glob("*.waits")):
        lines, of = path.read_text(encoding="utf-8").splitlines(), {}
        for i, line in enumerate(lines):
            f = line.split(" ")
            if f[0] == "p" and "=" in f[5]:
                of[f[1]] = evidence([split(frame) for frame in f[5].split(";")])
            elif f[0] == "w" and f[7] != "1" and of.get(f[8]):
                f[7] = of[f[8]]
                lines[i] = " ".join(f)
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
