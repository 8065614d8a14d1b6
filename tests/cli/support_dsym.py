# SPDX-License-Identifier: MIT
"""Programs of Apple's systems, built here with Debian's clang and linker: a library, its dSYM bundle, and a report of it."""

import os
import re
import shutil
import subprocess

from support_fleet import small_report

NEEDED = ("clang-14", "ld64.lld-14", "dsymutil-14", "llvm-lipo-14", "llvm-symbolizer-14")
LACKING = ", ".join(name for name in NEEDED if not shutil.which(name))
MACHINES = {"arm64": "arm64-apple-macos12", "x86_64": "x86_64-apple-macos12"}
SOURCE = """
namespace app {
struct View {
    volatile int n;
    inline __attribute__((always_inline)) int inner(int k) {
        for (int i = 0; i < k; i++)
            n += i;
        return n;
    }
    __attribute__((noinline)) int layout(int k);
};
int View::layout(int k) {
    return inner(k) + 3;
}
static __attribute__((noinline)) int hidden(int k) {
    View v{1};
    return v.layout(k) * 2;
}
}
extern "C" int run_app(int k) {
    return app::hidden(k) - 1;
}
"""

# Symbols of Swift and Objective-C, as their compilers name them.
SWIFT_SOURCE = """
#define NAMED(symbol) __asm__("_" symbol) __attribute__((noinline))
int layout(int k) NAMED("$s4main4ViewV6layout2of2inSiSi_SStF");
int body(int k) NAMED("$s4main4ViewV4bodyQrvgyycfU_TA");
int load(int k) NAMED("$s4main5ModelC4loadyyYaKFTQ0_");
int unknown(int k) NAMED("$s4main4ViewVMacro");
int hit(int k) NAMED("-[View hit]");
int block(int k) NAMED("__11-[View hit]_block_invoke");
volatile int n;
int layout(int k) { n += k; return n; }
int body(int k) { return layout(k) + 1; }
int load(int k) { return body(k) + 2; }
int unknown(int k) { return load(k) + 3; }
int hit(int k) { return unknown(k) + 4; }
int block(int k) { return hit(k) + 5; }
"""


def tool(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


class App:
    """`path` is the library, `dsym` its bundle, `dwarf` the file in the bundle. Several machines: a fat file each."""

    def __init__(self, folder, *machines, optimize="-O1", source=SOURCE):
        self.machines = machines
        self.path = os.path.join(folder, "App")
        self.dsym = self.path + ".dSYM"
        self.dwarf = os.path.join(self.dsym, "Contents/Resources/DWARF/App")
        path = os.path.join(folder, "app.cc")
        with open(path, "w", encoding="utf-8") as file:
            file.write(source)
        self.text, slices = {}, []
        for machine in machines:
            built, linked = os.path.join(folder, machine + ".o"), os.path.join(folder, machine)
            tool("clang-14", "-target", MACHINES[machine], "-g", optimize, "-c", path, "-o", built)
            tool("ld64.lld-14", "-dylib", "-arch", machine, "-platform_version", "macos", "12.0", "14.0", "-o", linked, built)
            slices.append(linked)
            head = tool("llvm-otool-14", "-l", linked)
            self.text[machine] = [int(value, 16) for value in re.search(r"sectname __text.*?addr (\S+)\s+size (\S+)", head, re.DOTALL).groups()]
            tool("dsymutil-14", linked, "-o", linked + ".dSYM")
        self.join(slices, self.path)
        os.makedirs(os.path.dirname(self.dwarf))
        self.join(["%s.dSYM/Contents/Resources/DWARF/%s" % (one, os.path.basename(one)) for one in slices], self.dwarf)
        for one in slices:
            shutil.rmtree(one + ".dSYM")
        self.uuid = {machine: uuid.replace("-", "").lower() for uuid, machine in
                     re.findall(r"UUID: ([0-9A-F-]+) \((\w+)\)", tool("llvm-dwarfdump-14", "--uuid", self.path))}

    @staticmethod
    def join(slices, path):
        """One file of all machines."""
        if len(slices) == 1:
            shutil.move(slices[0], path)
        else:
            tool("llvm-lipo-14", "-create", *slices, "-output", path)

    def addresses(self, machine, step=4):
        """Every `step`th address of the code."""
        start, size = self.text[machine]
        return range(start, start + size, step)

    def truth(self, machine, address):
        """[(function, line)], innermost first, by llvm-symbolizer."""
        rows = tool("llvm-symbolizer-14", "--obj=" + self.dwarf, "--default-arch=" + machine, hex(address)).split("\n")
        return [(None if name == "??" else name, int(place.split(":")[-2])) for name, place in zip(rows[0::2], rows[1::2]) if name]

    def report(self, machine, addresses, path=None, **more):
        frames = [{"pc": hex(0x100000000 + at), "module": 0, "offset": hex(at), "trust": "context"} for at in addresses]
        return small_report(host={"os": "macos", "os_version": "macOS 14.5 (23F79)", "kernel": "Darwin 23.5.0",
                                  "arch": machine.replace("arm64", "aarch64")},
                            modules=[{"path": path or "/Applications/App.app/Contents/MacOS/App", "base": "0x100000000", "size": 65536,
                                      "build_id": self.uuid[machine]}],
                            hot_stack={"frames": frames}, **more)
