# SPDX-License-Identifier: MIT
"""A module without a build-id, whose file may be another one by now, files that are none, and debug files."""

import datetime
import json
import os
import pathlib
import re
import shutil
import subprocess
import time
import unittest

from support_run import main
from test_cli import Command, run


# Of debug information: a tag, whether it has children, its attributes and their forms. Each has the code of its place.
KINDS = ((0x11, 1, ((0x11, 1), (0x12, 7))),  # a unit: from, length
         (0x39, 1, ((0x03, 8),)),  # a namespace: name
         (0x2e, 1, ((0x03, 8), (0x11, 1), (0x12, 7))),  # a function: name, from, length
         (0x1d, 0, ((0x31, 0x13), (0x11, 1), (0x12, 7))),  # an inlined one: what it is, from, length
         (0x2e, 0, ((0x03, 8), (0x20, 0x0b))),  # what it is: name, inlined
         (0x0b, 1, ((0x11, 1), (0x12, 7))))  # a block: from, length
UNIT, NAMESPACE, FUNCTION, INLINED, ABSTRACT, BLOCK = range(1, 7)
EVERYWHERE = ".quad victim; .quad .Lend - .Lvictim"


def described(*descriptions):
    """In assembler: a function, and these descriptions inside its unit's."""
    kinds = "".join(f".uleb128 {code}, {tag}; .byte {children}\n" +
                    "".join(f".uleb128 {name}, {form}\n" for name, form in attributes) + ".byte 0, 0\n"
                    for code, (tag, children, attributes) in enumerate(KINDS, 1))
    return f"""
        .globl victim; .type victim, @function
        victim: .Lvictim: .rept 64; nop; .endr
        .Lend: .size victim, .Lend - .Lvictim
        .section .debug_abbrev, "", @progbits
        .Lkinds: {kinds} .byte 0
        .section .debug_info, "", @progbits
        .Lunit: .long .Linfo_end - .Linfo
        .Linfo: .value 4; .long .Lkinds; .byte 8
        .byte {UNIT}; {EVERYWHERE}
        {"; ".join(descriptions)}
        .byte 0
        .Linfo_end:
        """


class ChangedFile(Command):
    def shown(self, program, address, ran, seconds=0.5, **module):
        """A report of a hang in `program`, from that time on."""
        (id,) = self.write("full")
        file = self.spool / f"{id}.json"
        report = json.loads(file.read_text())
        report["modules"].append({"path": str(program), "base": "0x0", "size": 65536, **module})
        report["hot_stack"]["frames"] = [
            {"pc": "0x1", "offset": hex(address + 4), "module": len(report["modules"]) - 1, "share": 1}]
        report["duration_ns"] = int(seconds * 1e9)
        report["started_at"] = ran.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        file.write_text(json.dumps(report))
        return run("show", file, "--all-frames").stdout

    def test_it_names_nothing_that_ran_before_it_changed(self):
        program, other = self.path / "program", self.path / "other"
        for path in (program, other):
            subprocess.run(["gcc", "-x", "c", "-", "-Wl,--build-id=none", "-o", path],
                           input="int in_%s(void) { return 1; }\nint main(void) { return in_%s(); }\n" % (
                               path.name, path.name), text=True, check=True)
        symbols = subprocess.run(["nm", program], check=True, capture_output=True, text=True).stdout
        address = int(re.search(r"(\w+) T in_program\n", symbols)[1], 16)
        made = datetime.datetime.fromtimestamp(program.stat().st_ctime, datetime.timezone.utc)
        self.assertIn("in_program", self.shown(program, address, made))
        self.assertIn("in_program", self.shown(program, address, made - datetime.timedelta(seconds=2), 5),
                      "made by what hung")
        shutil.copy(other, program)  # its time may be that of `other`, or any
        ran = made - datetime.timedelta(seconds=2)
        shown = self.shown(program, address, ran)
        self.assertNotIn("in_other", shown)
        self.assertIn("no symbols for program: its file was changed since, and has no build-id to know it by", shown)

    def test_of_a_long_build_id_a_report_has_the_beginning(self):
        program, id = self.path / "program", "5b" * 32 + "c0" * 8
        subprocess.run(["gcc", "-x", "c", "-", "-Wl,--build-id=0x" + id, "-o", program], input="int main(void) { return 0; }\n",
                       text=True, check=True)
        symbols = subprocess.run(["nm", program], check=True, capture_output=True, text=True).stdout
        address, ran = int(re.search(r"(\w+) T main\n", symbols)[1], 16), datetime.datetime.now(datetime.timezone.utc)
        for known in id[:64], id:
            self.assertRegex(self.shown(program, address, ran, build_id=known), r" main +program\+0x")
        for other in id[:62], id[:63] + "c", id[:78], id[:79] + "1":
            self.assertIn("the build-id differs", self.shown(program, address, ran, build_id=other))

    def test_what_is_no_ordinary_file_is_not_opened(self):
        """Opening is enough to start a watchdog's timer, or to end the wait of who writes to a FIFO."""
        (id,) = self.write("full")
        report = json.loads((self.spool / f"{id}.json").read_text())
        fifo = self.path / "fifo"
        os.mkfifo(fifo)
        for module in report["modules"]:
            module["path"] = str(fifo)
        (self.path / "hostile.json").write_text(json.dumps(report))
        os.link(fifo, self.spool / "ffffffff-0506-7008-8000-000000000000.json")
        for arguments in ([self.path / "hostile.json"], ["latest", "--spool", self.spool]):
            writer = subprocess.Popen(["sh", "-c", "echo >fifo"], cwd=self.path)
            self.addCleanup(writer.wait)
            self.addCleanup(writer.kill)
            state = lambda: pathlib.Path(f"/proc/{writer.pid}/stat").read_text().rsplit(") ")[1][0]
            while state() != "S":
                time.sleep(0.01)
            done = run("show", *arguments)
            self.assertRegex(done.stdout + done.stderr, "no (ordinary|regular) file")
            self.assertEqual("S", state())
            writer.kill()

    def test_a_debug_file_that_is_none_is_not_opened(self):
        """Nor what several of them share, of which libdw itself would open what nobody has found."""
        folder, program = self.path / "app", self.path / "app" / "program"
        (folder / ".debug").mkdir(parents=True)
        (folder / "shared").write_bytes(b"fifo\0" + 20 * b"i")
        source = "int a_function(void) { return 1; }\nint main(void) { return a_function(); }\n"
        text = subprocess.run(["gcc", "-gdwarf-4", "-S", "-x", "c", "-", "-o", "-"], input=source, check=True,
                              capture_output=True, text=True).stdout
        subprocess.run(["gcc", "-Wl,--build-id=none", "-x", "assembler", "-", "-o", folder / "whole"], text=True, check=True,
                       input=text.replace(".uleb128 0xe\n", ".uleb128 0x1f21\n"))  # DW_FORM_strp, DW_FORM_GNU_strp_alt
        symbols = subprocess.run(["nm", folder / "whole"], check=True, capture_output=True, text=True).stdout
        address = int(re.search(r"(\w+) T a_function\n", symbols)[1], 16)

        def show(name, *how):
            subprocess.run(["objcopy", *how, folder / "whole", program], check=True, cwd=folder)
            os.mkfifo(folder / name)
            shown = self.shown(program, address, datetime.datetime.now(datetime.timezone.utc))
            os.unlink(folder / name)
            self.assertIn("a_function", shown)

        show("fifo", "--add-section", ".gnu_debugaltlink=shared")
        (folder / "fifo").write_text("")
        subprocess.run(["objcopy", "--add-gnu-debuglink=fifo", folder / "whole", folder / "linked"], check=True, cwd=folder)
        subprocess.run(["objcopy", "--dump-section", ".gnu_debuglink=link", folder / "linked"], check=True, cwd=folder)
        os.unlink(folder / "fifo")
        for name in "fifo", ".debug/fifo":
            show(name, "--strip-debug", "--add-section", ".gnu_debuglink=link")
        for name in "program.debug", ".debug/program.debug", ".debug/program":
            show(name, "--strip-debug")

    def test_split_debug_information_has_the_inlined_functions(self):
        source, program, split = self.path / "source.c", self.path / "program", self.path / "source.dwo"
        source.write_text("static inline __attribute__((always_inline)) void inner(void) {\n"
                          "  __asm__ volatile(\".globl in_inner\\nin_inner: .rept 9; nop; .endr\");\n}\n"
                          "void outer(void) {\n  inner();\n}\nint main(void) { outer(); }\n")
        for version in "4", "5":
            subprocess.run(["gcc", "-gdwarf-" + version, "-gsplit-dwarf", "-c", source], check=True, cwd=self.path)
            subprocess.run(["gcc", "-Wl,--build-id=none", "source.o", "-o", program], check=True, cwd=self.path)
            symbols = subprocess.run(["nm", program], check=True, capture_output=True, text=True).stdout
            address = int(re.search(r"(\w+) T in_inner\n", symbols)[1], 16)
            shown = lambda: self.shown(program, address, datetime.datetime.now(datetime.timezone.utc))
            self.assertRegex(shown(), r"inner \(inlined\) +source.c:2 [^\n]*\n[^\n]* outer +source.c:5 ")
            split.unlink()
            self.assertNotIn("(inlined)", shown())
            os.mkfifo(split)
            self.assertNotIn("(inlined)", shown())
            split.unlink()

    def shown_described(self, *descriptions):
        program = self.path / "described.so"
        subprocess.run(["gcc", "-x", "assembler", "-", "-shared", "-nostdlib", "-Wl,--build-id=none", "-o", program],
                       input=described(*descriptions), text=True, check=True)
        symbols = subprocess.run(["nm", program], check=True, capture_output=True, text=True).stdout
        return self.shown(program, int(re.search(r"(\w+) T victim\n", symbols)[1], 16),
                          datetime.datetime.now(datetime.timezone.utc))

    def test_functions_in_a_namespace_have_their_inlined_ones(self):
        """As clang and Rust describe theirs."""
        shown = self.shown_described(
            f'.byte {NAMESPACE}; .asciz "outer"', f'.byte {NAMESPACE}; .asciz "empty"', ".byte 0",
            f'.Lwhat: .byte {ABSTRACT}; .asciz "inner"; .byte 1', f'.byte {NAMESPACE}; .asciz "more"',
            f'.byte {FUNCTION}; .asciz "work"; {EVERYWHERE}',
            f".byte {INLINED}; .long .Lwhat - .Lunit; {EVERYWHERE}", ".byte 0, 0, 0")
        self.assertRegex(shown, r"inner \(inlined\) [^\n]*\n[^\n]* work ")

    def test_a_lambda_is_found_inside_of_the_function_that_has_it(self):
        """As gcc describes it: in a type of a function whose own code is elsewhere."""
        elsewhere = ".quad victim + 4096; .quad 16"
        shown = self.shown_described(
            f'.byte {FUNCTION}; .asciz "before"; {elsewhere}', f".byte {BLOCK}; {elsewhere}", f'.byte {NAMESPACE}; .asciz "type"',
            f'.Lwhat: .byte {ABSTRACT}; .asciz "inner"; .byte 1', f'.byte {FUNCTION}; .asciz "lambda"; {EVERYWHERE}',
            f".byte {INLINED}; .long .Lwhat - .Lunit; {EVERYWHERE}", ".byte 0, 0, 0, 0")
        self.assertRegex(shown, r"inner \(inlined\) [^\n]*\n[^\n]* lambda ")

    def test_what_no_other_file_can_call_has_its_whole_name(self):
        """Which gcc tells by the symbol alone; but two functions of the same code have one."""
        program = self.path / "program"
        body = "__attribute__((noinline)) int %s(volatile int *p) { return *p * 3 + 1; }"
        subprocess.run(["g++", "-x", "c++", "-g", "-O2", "-Wl,--build-id=none", "-", "-o", program], check=True, text=True, input=(
            f"namespace {{ {body % 'run'} }}\nnamespace net {{ {body % 'rerun'} }}\n"
            "int main(int c, char **) { volatile int x = c; auto l = [&](int k) __attribute__((noipa)) { return k + x; };\n"
            "  return l(3) + run(&x) + net::rerun(&x); }\n"))
        symbols = subprocess.run(["nm", program], check=True, capture_output=True, text=True).stdout
        for symbol, name in ("_ZZ4mainENKU\\w+", "main::{lambda(int)#1}::operator()(int) const"), ("_ZN3net5rerunEPVi", "run"):
            address = int(re.search(rf"(\w+) [tTwW] {symbol}\n", symbols)[1], 16)
            self.assertRegex(self.shown(program, address, datetime.datetime.now(datetime.timezone.utc)), rf"% +{re.escape(name)} +\S+:\d")

    def test_what_is_inside_of_each_other_without_end_ends_nobody(self):
        """Rust's compiler makes a block of each variable."""
        depth = 100000
        block, space = f".byte {BLOCK}; {EVERYWHERE}", f'.byte {NAMESPACE}; .asciz ""'
        for inside in block, space:
            self.assertRegex(self.shown_described(f".rept {depth}; {inside}; .endr; .zero {depth}"), r" victim +described.so")
        self.assertRegex(self.shown_described(f'.byte {FUNCTION}; .asciz "work"; {EVERYWHERE}', f".rept {depth}; {block}; .endr",
                                              f".zero {depth + 1}"), r" work +described.so")


if __name__ == "__main__":
    main()
