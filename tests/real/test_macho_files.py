#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# Mach-O files that others built (scripts/install-macho-files): function starts, UUIDs, sections, symbols and exported names
# are those of LLVM's tools, and the numbers of functions those of docs/apple.md.

import os
import shutil
import sys

from support_macho import check, print_rows

FUNCTIONS = {
    ("watcher-arm64", "arm64"): 788,
    ("watcher-x86_64", "x86_64"): 787,
    ("libvips-arm64", "arm64"): 46973,
    ("libvips-x86_64", "x86_64"): 44745,
    ("swc-arm64", "arm64"): 893,
    ("swc-x86_64", "x86_64"): 1046,
    ("get-windows", "arm64"): 123,
    ("get-windows", "x86_64"): 154,
    ("esbuild-arm64", "arm64"): 0,  # of Go: no UUID, no function starts
}


def main():
    folder = os.path.join(os.environ.get("HANGDOG_SOURCE", "."), "build/macho")
    if not os.path.exists(os.path.join(folder, "installed")):
        print("there are no Mach-O files of others: scripts/install-macho-files gets them")
        return 77
    if not shutil.which("llvm-objdump-14"):
        print("there is no llvm-objdump-14")
        return 77
    rows, wrong = [], []
    for name in dict.fromkeys(name for name, _ in FUNCTIONS):
        more, bad = check(os.path.join(folder, name))
        rows += more
        wrong += bad
    print_rows(rows)
    counts = {(name, arch): functions for name, arch, functions, *_ in rows}
    wrong += ["%s, %s: %s functions, not %d" % (*key, counts.get(key), n) for key, n in FUNCTIONS.items()
              if counts.get(key) != n]
    for line in wrong[:50]:
        print("WRONG " + line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
