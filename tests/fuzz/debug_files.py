#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Damaged debug files, checked and looked up by hangdog-name as it is installed: how it ends, how long it takes, how much it takes.

    HANGDOG_BUILD=build tests/fuzz/debug_files.py --seconds 600 --seed 1 --keep FOLDER

An end by a signal, a time over the limit, or memory over the limit is a finding: its file goes to FOLDER, and the status is 1.
libdw itself is not instrumented. So ends by SIGSEGV and the like are its faults, and cost one job."""

import argparse
import os
import random
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import zlib

NAMER = os.path.join(os.environ.get("HANGDOG_BUILD", "build"), "libexec/hangdog/hangdog-name")
BUILD_ID = "00112233445566778899aabbccddeeff00112233"
SECONDS_MAX, BYTES_MAX = 30, 1200 << 20
SOURCE = """
#include <stdlib.h>
struct node { struct node *next; int value; };
static inline __attribute__((always_inline)) int inner(struct node *n) { return n->value ? n->value / 3 : 1; }
__attribute__((noinline)) int walk(struct node *n) { int sum = 0; for (; n; n = n->next) sum += inner(n); return sum; }
__attribute__((noinline)) int twice(struct node *n) { return walk(n) + inner(n); }
int main(int argc, char **argv) { struct node n = {0, argc}; (void)argv; return twice(&n) == 1; }
"""
KINDS = (["-gdwarf-5"], ["-gdwarf-4"], ["-gdwarf-5", "-gz=zlib"], ["-gdwarf-3", "-O2"])
NUMBERS = (0, 1, 0x7f, 0x80, 0xff, 0x7fff, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff, 1 << 32, (1 << 63) - 1, 1 << 63, (1 << 64) - 1)


class Elf:
    """Where the sections of a file are."""

    def __init__(self, data):
        self.data = data
        self.heads, self.head_bytes, self.count, names = struct.unpack_from("<Q10xHHH", data, 40)
        texts = self.head(names)[0]
        self.sections = {}
        for i in range(self.count):
            at = self.heads + i * self.head_bytes
            start = texts + struct.unpack_from("<I", data, at)[0]
            self.sections[data[start:data.index(b"\0", start)].decode()] = (at, *self.head(i))

    def head(self, i):
        return struct.unpack_from("<QQ", self.data, self.heads + i * self.head_bytes + 24)


def make_seeds(folder):
    seeds = []
    source = os.path.join(folder, "seed.c")
    with open(source, "w", encoding="ascii") as file:
        file.write(SOURCE)
    for i, options in enumerate(KINDS):
        whole, only = os.path.join(folder, "whole%d" % i), os.path.join(folder, "only%d" % i)
        subprocess.run(["gcc", "-O1", *options, "-Wl,--build-id=0x" + BUILD_ID, "-o", whole, source], check=True)
        subprocess.run(["objcopy", "--only-keep-debug", whole, only], check=True)
        for path in (whole, only):
            with open(path, "rb") as file:
                seeds.append(file.read())
    return seeds


def bomb(dice, data, elf):
    """A compressed section that says to be large."""
    name = dice.choice([name for name in elf.sections if name.startswith(".debug_")] or [".text"])
    at, _, size = elf.sections[name]
    mebibytes = dice.choice((16, 1024, 3072))
    deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
    piece = deflate.compress(bytes(16 << 20)) + deflate.flush(zlib.Z_FULL_FLUSH)
    claimed = dice.choice((mebibytes << 20, size, (1 << 64) - 1))
    text = struct.pack("<IIQQ", 1, 0, claimed, 1) + b"\x78\x9c" + piece * (mebibytes // 16) + b"\x03\x00"
    (flags,) = struct.unpack_from("<Q", data, at + 8)
    struct.pack_into("<Q", data, at + 8, flags | 0x800)
    struct.pack_into("<QQ", data, at + 24, len(data), len(text))
    data += text


def mutate(dice, seed):
    data, elf = bytearray(seed), Elf(seed)
    if dice.random() < 0.02:
        bomb(dice, data, elf)
    debug = [section for name, section in elf.sections.items() if name.startswith((".debug", ".symtab", ".strtab", ".eh_frame")) and section[2]]
    for _ in range(dice.choice((1, 1, 2, 4, 16))):
        way = dice.random()
        if way < 0.2:  # a section's head
            at = elf.heads + dice.randrange(elf.count) * elf.head_bytes + dice.choice((0, 4, 8, 16, 24, 32, 40, 44, 48, 56))
            struct.pack_into("<Q", data, min(at, len(data) - 8), dice.choice(NUMBERS))
        elif way < 0.25:
            struct.pack_into("<H", data, dice.randrange(16, 62), dice.randrange(1 << 16))
        else:
            _, start, size = dice.choice(debug)
            at = start + dice.randrange(size)
            if way < 0.6:
                data[min(at, len(data) - 1)] = dice.choice((0, 1, 0x7f, 0x80, 0xff, dice.randrange(256)))
            elif way < 0.85:
                width = dice.choice((2, 4, 8))
                at = max(0, min(at, len(data) - width))
                data[at:at + width] = (dice.choice(NUMBERS) & ((1 << 8 * width) - 1)).to_bytes(width, "little")
            else:
                piece = data[start:start + min(size, dice.choice((8, 64, 512)))]
                at = max(0, min(at, len(data) - len(piece)))
                data[at:at + len(piece)] = piece
    if dice.random() < 0.9:  # else the build-id ends most look-ups
        _, start, size = elf.sections[".note.gnu.build-id"]
        data[start:start + size] = seed[start:start + size]
        data[:40] = seed[:40]
    if dice.random() < 0.05:
        del data[dice.randrange(64, len(data)):]
    return bytes(data)


def run(command, stdin, act=None):
    """(end, seconds, bytes)"""
    start = time.monotonic()
    process = subprocess.Popen(command, stdin=stdin, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # pylint: disable=consider-using-with
    try:
        if act is not None:
            act()
        while time.monotonic() - start < SECONDS_MAX + 5:
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            if pid:
                process.returncode = os.waitstatus_to_exitcode(status)
                return process.returncode, time.monotonic() - start, usage.ru_maxrss << 10
            time.sleep(0.001)
        return "late", time.monotonic() - start, 0
    finally:
        if process.returncode is None:
            process.kill()
            process.wait()


def look_up(path, addresses):
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.settimeout(SECONDS_MAX)

    def ask():
        theirs.close()
        try:
            for address in addresses:
                ours.send(struct.pack("<QQqII", address, 0, 1 << 40, len(path), len(BUILD_ID)) + (path + BUILD_ID).encode())
                left = 1
                while left > 0:
                    answer = ours.recv(1 << 16)
                    if not answer:
                        return
                    left = (struct.unpack_from("<i", answer)[0] if left == 1 and not ask.more else left) - 1
                    ask.more = left > 0
        except OSError:
            pass
        finally:
            ours.close()
    ask.more = False
    return run([NAMER, "--look-up", str(os.geteuid()), "named"], theirs, ask)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", help="the folder for files of findings")
    options = parser.parse_args()
    dice, ends, found, slowest, largest, runs = random.Random(options.seed), {}, 0, 0, 0, 0
    with tempfile.TemporaryDirectory(prefix="hangdog-fuzz-") as folder:
        seeds, path, until = make_seeds(folder), os.path.join(folder, BUILD_ID), time.monotonic() + options.seconds
        while time.monotonic() < until:
            data = mutate(dice, dice.choice(seeds))
            with open(path, "wb") as file:
                file.write(data)
            jobs = {"check": lambda: run([NAMER, "--check", folder, BUILD_ID], subprocess.DEVNULL),
                    "look-up": lambda: look_up(path, [dice.randrange(0x1000, 0x1300) for _ in range(8)])}
            for name, job in jobs.items():
                end, seconds, most = job()
                runs += 1
                ends[name, end] = ends.get((name, end), 0) + 1
                slowest, largest = max(slowest, seconds), max(largest, most)
                if end == "late" or (isinstance(end, int) and end < 0) or seconds > SECONDS_MAX or most > BYTES_MAX:
                    found += 1
                    print("%s: end %s, %.1f s, %d MiB" % (name, end, seconds, most >> 20), flush=True)
                    if options.keep:
                        os.makedirs(options.keep, exist_ok=True)
                        shutil.copy(path, os.path.join(options.keep, "%s-%d-%d" % (name, options.seed, runs)))
    for (name, end), count in sorted(ends.items(), key=str):
        what = signal.Signals(-end).name if isinstance(end, int) and end < 0 else end
        print("%-8s end %-8s %d" % (name, what, count))
    print("%d runs, %d findings, slowest %.1f s, largest %d MiB" % (runs, found, slowest, largest >> 20))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
