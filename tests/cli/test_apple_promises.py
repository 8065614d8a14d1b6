# SPDX-License-Identifier: MIT
"""scripts/check-apple finds what a library for Apple's systems may not have: each fault is made here, in a library of a few lines."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from support_run import SOURCE, main

SDK = os.path.join(SOURCE, "build/apple/sdk")
CHECK = os.path.join(SOURCE, "scripts/check-apple")
LINK = ["-install_name", "@rpath/libhangdog.1.dylib", "-application_extension", "-dead_strip", "-exported_symbol", "_hangdog_*"]


def api():
    text = ""
    for name in ("hangdog.h", "apple.h"):
        with open(os.path.join(SOURCE, "include/hangdog", name), encoding="utf-8") as file:
            text += file.read()
    return sorted(set(re.findall(r"^HANGDOG_API [^;{]*?\b(hangdog_\w+)\(", text, re.MULTILINE)))


@unittest.skipUnless(os.path.isdir(SDK) and shutil.which("ld64.lld-14"), "no headers of Apple's systems: scripts/install-apple-sdk")
class Promises(unittest.TestCase):
    def check(self, code="", link=None, without=(), allowed=("_strlen", "dyld_stub_binder"), minimum="12.0"):
        """What the check says of a library for macOS with the public functions and `code`."""
        with tempfile.TemporaryDirectory() as folder:
            paths = {name: os.path.join(folder, name) for name in ("code.c", "code.o", "list.txt", "libhangdog.a", "libhangdog.1.dylib")}
            functions = "".join(f"unsigned long {name}(const char *s) {{ return strlen(s); }}\n" for name in api() if name not in without)
            with open(paths["code.c"], "w", encoding="utf-8") as file:
                file.write(f"#include <string.h>\n{functions}{code}\n")
            with open(paths["list.txt"], "w", encoding="utf-8") as file:
                file.write("[all]\n" + "".join(name + "\n" for name in allowed))
            subprocess.run(["clang-14", "-target", f"arm64-apple-macos{minimum}", "-isysroot", SDK, "-O1", "-w", "-c", paths["code.c"],
                            "-o", paths["code.o"]], check=True)
            subprocess.run(["llvm-ar-14", "qcs", paths["libhangdog.a"], paths["code.o"]], check=True)
            subprocess.run(["ld64.lld-14", "-dylib", "-arch", "arm64", "-platform_version", "macos", minimum, minimum, "-syslibroot", SDK,
                            *(LINK if link is None else link), "-undefined", "dynamic_lookup", "-lSystem", paths["code.o"], "-o",
                            paths["libhangdog.1.dylib"]], check=True)
            done = subprocess.run([sys.executable, CHECK, "--in", folder, paths["list.txt"], "macos-arm64"], text=True,
                                  capture_output=True, check=False)
            self.assertEqual(done.returncode, 1 if "FAILED" in done.stdout else 0, done.stdout + done.stderr)
            return done.stdout.replace(paths["list.txt"], "LIST")

    def refused(self, text, *rest, **options):
        self.assertIn(f"check-apple: macos-arm64: {text}\n", self.check(*rest, **options))

    def test_a_library_that_has_no_fault(self):
        self.assertEqual(self.check(), "check-apple: macos-arm64: ok, 2 symbols, 0 categories of required reasons\n")

    def test_symbols_that_differ_from_the_list(self):
        self.refused("_strlen is undefined and not in LIST", allowed=("dyld_stub_binder",))
        self.refused("LIST has _strchr, which the library does not use", allowed=("_strchr", "_strlen", "dyld_stub_binder"))
        self.refused("no file defines _hd_os", "extern int hd_os(void); int hangdog_more(void) { return hd_os(); }")

    def test_functions_that_are_private(self):
        call = "extern int %s(void); int hangdog_start_more(void) { return %s(); }"
        for name in ("__ulock_wait", "csops", "_dyld_find_unwind_sections"):
            self.refused(f"_{name} is no public function of macos", call % (name, name))

    def test_names_of_private_functions_in_strings(self):
        text = 'const char *hangdog_more(void) { return "%s"; }'
        self.refused("__TEXT,__cstring has the private name __ulock_wait2", text % "dlsym:__ulock_wait2")
        self.refused("__TEXT,__cstring has the private name getdirentries64", text % "getdirentries64")
        self.assertNotIn("private name", self.check(text % "pthread_mutex_lock"))

    def test_reasons_that_are_not_declared(self):
        code = "#include <%s>\nunsigned long long hangdog_more(void *a, char *b) { return %s; }"
        self.refused("a function of NSPrivacyAccessedAPICategorySystemBootTime is used, which src/PrivacyInfo.xcprivacy does not declare",
                     code % ("mach/mach_time.h", "mach_absolute_time()"))
        self.refused("a function of NSPrivacyAccessedAPICategoryDiskSpace is used, which src/PrivacyInfo.xcprivacy does not declare",
                     code % ("sys/mount.h", "statfs(b, a)"))
        self.assertNotIn("PrivacyInfo", self.check(code % ("sys/stat.h", "stat(b, a)")))

    def test_exports_that_are_not_the_public_header(self):
        self.refused("hangdog_other is exported, but not in include/hangdog/hangdog.h or include/hangdog/apple.h", "int hangdog_other(void) { return 1; }")
        self.refused("hangdog_stop is not exported", without=("hangdog_stop",))

    def test_load_commands(self):
        other = ["libhangdog.dylib" if word.startswith("@rpath") else word for word in LINK]
        self.refused("install name is libhangdog.dylib, must be @rpath/libhangdog.1.dylib", link=other)
        self.refused("bit of extensions is 0, must be 33554432", link=[word for word in LINK if word != "-application_extension"])
        self.refused("minimum version is 11.0, must be 12.0", minimum="11.0")


if __name__ == "__main__":
    main()
