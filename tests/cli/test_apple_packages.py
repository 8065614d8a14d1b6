# SPDX-License-Identifier: MIT
"""The packages for Apple's systems name what is there, and the header without a library has each function of the API."""

import ast
import glob
import os
import plistlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from support_run import SOURCE, main

SDK = os.path.join(SOURCE, "build/apple/sdk")
STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
COMPILERS = (["gcc", "-std=c11"], ["clang", "-std=c11"], ["g++", "-std=c++17", "-x", "c++"], ["clang++", "-std=c++17", "-x", "c++"])
STUB_PROGRAM = """
#include <hangdog/hangdog_stub.h>
#include <hangdog/apple.h>
#include <stdio.h>

static void *const functions[] = {%s};

int main(void) {
    hangdog_event event = {};
    hangdog_loop *loop = hangdog_loop_watch("main", 0);
    size_t count = 0;
    hangdog_mark(loop, HANGDOG_AFTER_WAITING);
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        count += functions[i] != NULL;
    }
    printf("%%s %%zu %%d %%d %%d\\n", hangdog_version(), count, loop != NULL,
           hangdog_start(NULL), hangdog_next_event(&event, UINT64_MAX) == -ESRCH);
    return hangdog_stop();
}
"""


def read(path):
    with open(os.path.join(SOURCE, path), encoding="utf-8") as file:
        return file.read()


def public_functions():
    """Those of Linux, and those of Apple's systems alone."""
    text = read("include/hangdog/hangdog.h") + read("include/hangdog/apple.h")
    return sorted(set(re.findall(r"^HANGDOG_API [^;{]*?\b(hangdog_\w+)\(", text, re.MULTILINE)))


def sources_of_cmake():
    """The files of cmake/Apple.cmake, of both CPUs."""
    patterns = re.search(r"hd_sources\(core_sources ([^)]*)\)", read("cmake/Apple.cmake")).group(1).split()
    out = re.search(r"EXCLUDE REGEX \"([^\"]*)\"", read("cmake/Apple.cmake")).group(1)
    found = {os.path.relpath(path, SOURCE) for pattern in patterns for path in glob.glob(os.path.join(SOURCE, pattern))}
    return {path for path in found if not re.search(out, path)}


def swift_list(name):
    """The strings of a list in Package.swift, and the paths that its map() makes of those of sourceFolders."""
    words, mapped = re.search(rf"^let {name} = (\[[^\]]*\])(.*)$", read("Package.swift"), re.MULTILINE).groups()
    words = ast.literal_eval(words)
    form = re.search(r'map \{ "([^"]*)" \}', mapped)
    if name == "sourceFolders":
        return [form.group(1).replace("\\($0)", word) for word in words]
    return words + [form.group(1).replace("\\($0)", word) for word in swift_list("sourceFolders")] if form else words


def compile_program(folder, compiler, program):
    path, out = os.path.join(folder, "program.c"), os.path.join(folder, "program")
    with open(path, "w", encoding="utf-8") as file:
        file.write(program)
    # An empty initialiser, and a function's address as void *.
    subprocess.run([*compiler, *STRICT, "-Wno-pedantic", "-I", os.path.join(SOURCE, "include"), path, "-o", out], check=True)
    return subprocess.run([out], check=True, text=True, capture_output=True).stdout.split()


class Stub(unittest.TestCase):
    def test_each_function_has_a_stub_of_its_type_and_no_library_is_linked(self):
        functions = public_functions()
        self.assertGreater(len(functions), 20)
        program = STUB_PROGRAM % ", ".join(f"(void *){name}" for name in functions)
        version = re.search(r'HANGDOG_VERSION "([^"]+)"', read("include/hangdog/hangdog.h")).group(1)
        for compiler in COMPILERS:
            if shutil.which(compiler[0]):
                with tempfile.TemporaryDirectory() as folder, self.subTest(compiler=compiler[0]):
                    self.assertEqual(compile_program(folder, compiler, program), [version, str(len(functions)), "0", "0", "1"])

    def test_another_type_does_not_compile(self):
        """The stub's definitions follow the real declarations, so that the compiler compares them."""
        text = read("include/hangdog/hangdog_stub.h")
        declared = text.index("#include <hangdog/hangdog.h>")
        self.assertLess(declared, text.index("static inline const char"))
        with tempfile.TemporaryDirectory() as folder:
            os.makedirs(folder + "/hangdog")
            shutil.copy(os.path.join(SOURCE, "include/hangdog/hangdog.h"), folder + "/hangdog")
            with open(folder + "/hangdog/hangdog_stub.h", "w", encoding="utf-8") as file:
                file.write(text.replace("hangdog_set_interval(uint64_t interval_ns)", "hangdog_set_interval(uint32_t interval_ns)"))
            done = subprocess.run(["gcc", "-I", folder, "-fsyntax-only", "-x", "c", "-"], input="#include <hangdog/hangdog_stub.h>\n",
                                  text=True, capture_output=True, check=False)
            self.assertIn("conflicting types for", done.stderr)


class Packages(unittest.TestCase):
    def test_package_swift_compiles_the_files_of_cmake(self):
        """SwiftPM compiles each file below a folder of sources but headers and what is excluded. It refuses a resource there."""
        out, folders, text = swift_list("withoutLinux") + swift_list("otherFiles"), swift_list("sourceFolders"), read("Package.swift")
        for path in [*out, *folders, re.search(r'publicHeadersPath: "([^"]+)"', text).group(1),
                     *re.findall(r'(?:copy|headerSearchPath)\("([^"]+)"\)', text)]:
            self.assertTrue(os.path.exists(os.path.join(SOURCE, path)), path)
        found = {os.path.relpath(os.path.join(top, name), SOURCE)
                 for folder in folders for top, _, names in os.walk(os.path.join(SOURCE, folder)) for name in names}
        compiled = {path for path in found if not path.endswith((".h", ".hpp")) and path not in out and not path.startswith(tuple(folder + "/" for folder in out))}
        self.assertEqual(compiled, sources_of_cmake())
        resources = re.findall(r'\.copy\("([^"]+)"\)', text)
        self.assertEqual(resources, ["src/PrivacyInfo.xcprivacy"])
        self.assertEqual([path for path in resources if path.startswith(tuple(folder + "/" for folder in folders))], [])
        self.assertIn("exclude: withoutLinux + otherFiles,\n            sources: sourceFolders,", text)

    def test_package_swift_leaves_no_file_without_a_rule(self):
        """Of those that git knows: SwiftPM would print a warning with all their names."""
        files = subprocess.run(["git", "-C", SOURCE, "ls-files"], text=True, capture_output=True, check=False).stdout.split("\n")
        out = swift_list("withoutLinux") + swift_list("otherFiles") + swift_list("sourceFolders")
        ruled = ("Package.swift", "src/PrivacyInfo.xcprivacy", "include/module.modulemap")
        left = [path for path in files if path and not path.startswith(".") and not path.endswith((".h", ".hpp")) and path not in (*ruled, *out)
                and not path.startswith(tuple(folder + "/" for folder in out))]
        self.assertEqual(left, [])

    def test_the_podspec_has_the_same_files(self):
        text = read("Hangdog.podspec")
        wanted = re.search(r"s\.source_files = (.*)\n", text).group(1)
        out = re.search(r"s\.exclude_files = ((?:.|\n)*?)\n  s\.", text).group(1)
        ruby = ("puts Dir.glob([%s].flat_map { |p| p.sub('{c,h}', 'c') }) - Dir.glob([%s])" % (wanted, out))
        if not shutil.which("ruby"):
            self.skipTest("there is no ruby")
        found = subprocess.run(["ruby", "-e", ruby], cwd=SOURCE, text=True, capture_output=True, check=True).stdout.split()
        self.assertEqual({path for path in found if path.endswith(".c")}, sources_of_cmake())
        self.assertEqual(subprocess.run(["ruby", "-c", "Hangdog.podspec"], cwd=SOURCE, capture_output=True, check=False).returncode, 0)
        self.assertTrue(os.path.exists(os.path.join(SOURCE, re.search(r"=> \['([^']+)'\]", text).group(1))))

    def test_each_file_of_one_cpu_is_empty_for_the_other(self):
        """A package has no list for each CPU: it compiles all files for both."""
        for path in sources_of_cmake():
            cpu = re.search(r"_(x86_64|aarch64)\.c$", path)
            if cpu:
                code = [line for line in re.sub(r"/\*.*?\*/", "", read(path), flags=re.DOTALL).splitlines() if line.strip()]
                self.assertEqual((code[0], code[-1]), (f"#ifdef __{cpu.group(1)}__", "#endif"), path)

    def test_the_module_map_has_headers_that_are_there(self):
        headers = re.findall(r'header "([^"]+)"', read("include/module.modulemap"))
        self.assertIn("hangdog/hangdog.h", headers)
        pod = re.search(r"public_header_files = 'include/hangdog/\{(.*)\}\.h'", read("Hangdog.podspec")).group(1)
        self.assertEqual(headers, ["hangdog/%s.h" % name for name in pod.split(",")])
        for header in headers:
            self.assertTrue(os.path.exists(os.path.join(SOURCE, "include", header)), header)

    def test_the_privacy_manifest(self):
        with open(os.path.join(SOURCE, "src/PrivacyInfo.xcprivacy"), "rb") as file:
            manifest = plistlib.load(file)
        self.assertEqual(manifest["NSPrivacyAccessedAPITypes"], [
            {"NSPrivacyAccessedAPIType": "NSPrivacyAccessedAPICategoryFileTimestamp", "NSPrivacyAccessedAPITypeReasons": ["C617.1"]}])
        self.assertEqual((manifest["NSPrivacyTracking"], manifest["NSPrivacyTrackingDomains"]), (False, []))
        collected = {entry["NSPrivacyCollectedDataType"].removeprefix("NSPrivacyCollectedDataType"):
                     (entry["NSPrivacyCollectedDataTypeLinked"], entry["NSPrivacyCollectedDataTypeTracking"],
                      entry["NSPrivacyCollectedDataTypePurposes"]) for entry in manifest["NSPrivacyCollectedDataTypes"]}
        purpose = (False, False, ["NSPrivacyCollectedDataTypePurposeAppFunctionality"])
        self.assertEqual(collected, {"CrashData": purpose, "PerformanceData": purpose, "OtherDiagnosticData": purpose})


@unittest.skipUnless(len(glob.glob(os.path.join(SOURCE, "build/apple/*/libhangdog.a"))) == 5 and shutil.which("llvm-lipo-14"),
                     "no libraries for Apple's systems: scripts/build-apple")
class Xcframework(unittest.TestCase):
    def check_import(self, headers):
        """The module is found, and its map is not where another library has one: Xcode copies the headers of all into one folder."""
        self.assertEqual(os.listdir(headers), ["hangdog"])
        self.assertFalse({"trace.h", "uv.h"} & set(os.listdir(os.path.join(headers, "hangdog"))))
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(["clang-14", "-target", "arm64-apple-macos12.0", "-isysroot", SDK, "-fmodules", f"-fmodules-cache-path={folder}",
                            "-I", headers, "-I", os.path.join(SOURCE, "tests/support/corefoundation"), "-x", "objective-c", "-Werror",
                            "-fsyntax-only", "-"], input="@import Hangdog;\nint main(void) { return hangdog_start(0); }\n", text=True, check=True)

    def test_each_library_is_where_the_list_says(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, os.path.join(SOURCE, "scripts/xcframework"), folder], check=True, stdout=subprocess.DEVNULL)
            root = os.path.join(folder, "Hangdog.xcframework")
            with open(os.path.join(root, "Info.plist"), "rb") as file:
                info = plistlib.load(file)
            self.assertEqual((info["CFBundlePackageType"], info["XCFrameworkFormatVersion"]), ("XFWK", "1.0"))
            names = set()
            for entry in info["AvailableLibraries"]:
                place = os.path.join(root, entry["LibraryIdentifier"])
                names.add(entry["LibraryIdentifier"])
                cpus = subprocess.run(["llvm-lipo-14", "-archs", os.path.join(place, entry["LibraryPath"])],
                                      text=True, capture_output=True, check=True).stdout.split()
                self.assertEqual(sorted(cpus), sorted(entry["SupportedArchitectures"]))
                for path in (f"{entry['HeadersPath']}/hangdog/module.modulemap", f"{entry['HeadersPath']}/hangdog/hangdog.h", "PrivacyInfo.xcprivacy"):
                    self.assertTrue(os.path.exists(os.path.join(place, path)), path)
                self.assertEqual(entry.get("SupportedPlatformVariant"), "simulator" if "simulator" in entry["LibraryIdentifier"] else None)
                self.check_import(os.path.join(place, entry["HeadersPath"]))
            self.assertEqual(names, {"macos-arm64_x86_64", "ios-arm64", "ios-arm64_x86_64-simulator"})


@unittest.skipUnless(os.path.isdir(SDK) and shutil.which("clang-14"), "no headers of Apple's systems: scripts/install-apple-sdk")
class Compiled(unittest.TestCase):
    def test_the_module_can_be_imported(self):
        with tempfile.TemporaryDirectory() as folder:
            for target in ("arm64-apple-macos12.0", "arm64-apple-ios15.0", "x86_64-apple-ios15.0-simulator"):
                subprocess.run(["clang-14", "-target", target, "-isysroot", SDK, "-fmodules", f"-fmodules-cache-path={folder}",
                                "-I", os.path.join(SOURCE, "include"), "-I", os.path.join(SOURCE, "tests/support/corefoundation"),
                                "-x", "objective-c", "-Werror", "-fsyntax-only", "-"],
                               input="@import Hangdog;\nint main(void) { return hangdog_cfrunloop_watch(\"main\", 0, 0) != 0; }\n",
                               text=True, check=True)

    def test_a_package_compiles_the_files_of_each_cpu_for_each_cpu(self):
        for path in sources_of_cmake():
            if re.search(r"_(x86_64|aarch64)\.c$", path):
                for target in ("arm64-apple-ios15.0", "x86_64-apple-ios15.0-simulator"):
                    subprocess.run(["clang-14", "-target", target, "-isysroot", SDK, "-std=c17", "-D_GNU_SOURCE=", "-Isrc", "-Iinclude",
                                    "-Wall", "-Wextra", "-Werror", "-fsyntax-only", path], cwd=SOURCE, check=True)


if __name__ == "__main__":
    main()
