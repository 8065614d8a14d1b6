# SPDX-License-Identifier: MIT
"""Which frame of a hot stack stands for the hang: whose code it is, by its file, its name and its module."""

import datetime
import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

from support_run import main

BUILD = pathlib.Path(os.environ["HANGDOG_BUILD"])
HANGDOG = BUILD / "bin/hangdog"
WRITE_REPORT = BUILD / "tests/programs/write-report"
LIBC, PROGRAM, LIBRARY = range(3)
POLL = {"module": LIBC, "function": "poll"}


def python(function, file):
    """A function that python3, the program, runs."""
    return {"module": PROGRAM, "function": function, "file": file, "line": 7, "inlined": True, "language": "python"}


def told(frames, *command, before=(), **app):
    """What the command, run by another one, says of a hang in these, innermost first; all have the whole of its time."""
    with tempfile.TemporaryDirectory() as folder:
        out = subprocess.run([WRITE_REPORT, folder, "full"], check=True, capture_output=True, text=True).stdout
        file = pathlib.Path(folder) / (out.strip() + ".json")
        report = json.loads(file.read_text())
        report["modules"] = [{"path": path, "base": "0x0", "size": 4096}
                             for path in ("/usr/lib/x86_64-linux-gnu/libc.so.6", app.get("executable", "/opt/app/bin/app"),
                                          app.pop("library", "/opt/app/lib/libapp.so"))]
        report["app"] = {**report["app"], "name": "app", "executable": "/opt/app/bin/app", **app}
        report["started_at"] = app.get("started_at", report["started_at"])
        report["app"].pop("build_id", None)
        report["hot_stack"]["frames"] = [{"pc": "0x10", "offset": "0x10", "share": 1, **frame} for frame in frames]
        file.write_text(json.dumps(report))
        return subprocess.run([*before, HANGDOG, *command, "--spool", folder], check=True, capture_output=True, text=True).stdout


def own(*frames, **app):
    """The function that stands for a hang in these."""
    return json.loads(told(frames, "list", "--json", "--no-symbols", **app))[0].get("function")


class Scripts(unittest.TestCase):
    def test_a_programs_own_modules_below_usr_share_are_its_own_code(self):
        frames = [POLL, python("f", "/usr/lib/python3/dist-packages/gi/x.py"), python("g", "/usr/share/app/a.py"),
                  python("<module>", "/usr/bin/app")]
        self.assertEqual("g", own(*frames))
        for library in ("nodejs/express/lib/router.js", "javascript/jquery/jquery.js", "perl/5.36/IO/Select.pm",
                        "perl5/LWP/UserAgent.pm", "lua/5.1/socket/http.lua", "python3/debpython/files.py"):
            frames[2]["file"] = "/usr/share/" + library
            self.assertEqual("<module>", own(*frames), library)
        frames[2]["file"] = "/usr/libexec/app/a.py"
        self.assertEqual("g", own(*frames))

    def test_a_package_and_a_languages_library_are_not_own_code_below_any_prefix(self):
        for file in ("/home/u/.pyenv/versions/3.11.4/lib/python3.11/subprocess.py", "/opt/venv/lib/python3.12/site-packages/x/y.py",
                     "/srv/dist-packages/x.py", "/srv/app/node_modules/express/router.js", "node:child_process", "<frozen importlib>"):
            self.assertEqual("tick", own(POLL, python("run", file), python("tick", "/srv/app/a.py")), file)
        for file in "/srv/lib/pythonic/a.py", "<string>", "<stdin>", "/srv/app/node/a.js":
            self.assertEqual("run", own(POLL, python("run", file), python("tick", "/srv/app/a.py")), file)

    def test_a_comprehension_is_a_part_of_its_function(self):
        parts = [python("resize.<locals>.<genexpr>", "/srv/a.py"), python("resize", "/srv/a.py"), python("main", "/srv/a.py")]
        self.assertEqual("resize", own(POLL, *parts))
        self.assertEqual("resize.<locals>.<genexpr>", own(POLL, parts[0]))  # where nothing else is own

    def test_what_a_perf_map_names_stands_before_the_runtime_that_made_it(self):
        main = {"module": PROGRAM, "function": "main"}
        made = {"function": "void [App] Foo::Bar()"}
        self.assertEqual(made["function"], own(POLL, made, main))
        self.assertEqual("tick", own(POLL, {"function": "RegExp:x+"}, {**python("tick", "/srv/a.js"), "language": "javascript"}, main))
        self.assertEqual("main", own(POLL, {}, main))  # without a name it says nothing

    def test_cpythons_perf_map_names_functions_and_there_is_nothing_to_hint_at(self):
        frames = [POLL, {"pc": "0x7f0000001010"}, {"module": PROGRAM, "function": "_PyEval_EvalFrameDefault"}]
        now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        for name, shown, hint in (("py::f:/srv/x.py", r" in f \(x\.py\), app\[(?s:.*)\n  > f +x\.py +in poll\n", False), ("stub", r" in stub, app\[", True)):
            path = pathlib.Path("/tmp/perf-%d.map" % os.getpid())
            path.write_text("7f0000001000 100 %s\n" % name)
            self.addCleanup(path.unlink, missing_ok=True)
            text = told(frames, "show", "latest", pid=os.getpid(), started_at=now)
            self.assertRegex(text, shown)
            self.assertEqual(hint, "  no Python names: Hangdog reads CPython 3.8 to 3.14" in text, text)

    def test_a_perf_map_is_read_under_a_proc_of_another_namespace(self):
        """Who has that number there says nothing about it."""
        space = ["/usr/bin/unshare", "--pid", "--fork"]
        if os.geteuid() != 0 or subprocess.run([*space, "/bin/true"], check=False).returncode != 0:
            self.skipTest("only root makes a namespace of processes, where it is allowed")
        before = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(minutes=1)
        with subprocess.Popen(["/bin/sleep", "600"]) as other:
            path = pathlib.Path("/tmp/perf-%d.map" % other.pid)
            self.addCleanup(path.unlink, missing_ok=True)
            try:
                path.write_text("7f0000001000 100 f\n")
                text = told([POLL, {"pc": "0x7f0000001010"}], "show", "latest", before=space, pid=other.pid,
                            started_at=before.strftime("%Y-%m-%dT%H:%M:%SZ"))
            finally:
                other.kill()
        self.assertIn(" in f, app[", text)

    def test_where_no_script_function_can_be_told_it_is_said(self):
        for function, language in ("rb_vm_exec", "Ruby"), ("execute_ex", "PHP"), ("Perl_runops_standard", "Perl"), ("lua_pcallk", "Lua"):
            text = told([POLL, {"module": PROGRAM, "function": function}], "show", "latest")
            self.assertIn(f"\n  no {language} names: Hangdog does not read {language}'s stacks\n", text)


class PlugIns(unittest.TestCase):
    def own(self, program, library, caller="ngx_http_handler"):
        """The function blamed of a hang in a library's function, which the program's `caller` calls."""
        frames = [POLL, {"module": LIBRARY, "function": "in_library"}, {"module": PROGRAM, "function": caller},
                  {"module": PROGRAM, "function": "main"}]
        return own(*frames, library=library, executable=program)

    def test_a_systems_programs_plug_in_is_blamed(self):
        self.assertEqual("in_library", self.own("/usr/sbin/nginx", "/usr/lib/nginx/modules/ngx_http_x.so"))
        self.assertEqual("in_library", self.own("/usr/sbin/apache2", "/usr/lib/apache2/modules/mod_x.so"))

    def test_a_toolkits_plug_in_is_blamed_where_main_runs_the_loop(self):
        module = "/usr/lib/x86_64-linux-gnu/gtk-3.0/modules/libx.so"
        self.assertEqual("in_library", self.own("/opt/app/bin/app", module, "main"))
        self.assertEqual("on_click", self.own("/opt/app/bin/app", module, "on_click"))

    def test_a_library_that_is_none_is_not(self):
        for library in ("/usr/lib/x86_64-linux-gnu/libpq.so.5", "/opt/qt/lib/libQt5Core.so.5",
                        "/srv/venv/lib/python3.11/site-packages/x.so", "/srv/app/node_modules/x/build/x.node"):
            self.assertEqual("f", self.own("/opt/app/bin/app", library, "f"), library)
        self.assertEqual("in_library", self.own("/opt/app/bin/app", "/opt/app/plugins/resize.so", "f"))


class ProgramsInLibraries(unittest.TestCase):
    """Debian's ruby: all of its code is in a library, and of its own names it has kept no more than _start."""
    START = [{"module": LIBC, "function": "__libc_start_call_main"}, {"module": LIBC, "function": "__libc_start_main"},
             {"module": PROGRAM, "function": "_start"}]

    def test_a_stripped_main_that_calls_a_library_is_not_blamed_for_it(self):
        sources = {"library.c": "void work(void) { __asm__ volatile(\".globl in_work\\nin_work: nop\"); }\n",
                   "app.c": "void work(void);\n__attribute__((visibility(\"hidden\"))) int main(void) {\n  work();\n"
                            "  __asm__ volatile(\".globl in_main\\n.hidden in_main\\nin_main: nop\"); return 0;\n}\n"}
        with tempfile.TemporaryDirectory() as folder:
            for name, text in sources.items():
                (pathlib.Path(folder) / name).write_text(text)
            build = lambda *how: subprocess.run(["gcc", "-Wl,--build-id=none", *how], check=True, cwd=folder)
            build("-shared", "-fPIC", "library.c", "-o", "liball.so")
            build("-Wl,-E", "app.c", "-L.", "-lall", "-o", "app")
            symbols = "".join(subprocess.run(["nm", f"{folder}/{file}"], check=True, capture_output=True, text=True).stdout
                              for file in ("liball.so", "app"))
            subprocess.run(["strip", "app"], check=True, cwd=folder)
            at = lambda module, name: {"module": module, "offset": hex(int(re.search(rf"(\w+) [Tt] {name}\n", symbols)[1], 16) + 1)}
            app = {"executable": folder + "/app", "library": folder + "/liball.so",
                   "started_at": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")}
            frames = [POLL, at(LIBRARY, "in_work"), at(PROGRAM, "in_main"), *self.START[:2], at(PROGRAM, "_start")]
            text = told(frames, "show", "latest", "--all-frames", **app)
            self.assertRegex(text, r"\n *100%  _start +app\+0x")  # it is exported, and main is not
            self.assertRegex(text, r"\n *100%  app\+0x\w+ +app\+0x")
            self.assertRegex(text, r" in work, app\[(?s:.*)\n  > work +in poll\n")

    def test_it_is_a_librarys_frame_where_nothing_else_is_the_programs(self):
        main, work = {"module": PROGRAM}, {"module": LIBRARY, "function": "work"}
        for library in "/opt/app/lib/libapp.so", "/usr/lib/x86_64-linux-gnu/libapp.so.1":
            top = lambda *frames: own(*frames, library=library)  # noqa: B023
            self.assertEqual("work", top(POLL, {"module": LIBRARY}, work, main, *self.START))
            self.assertEqual("work", top(POLL, work, main, *self.START[1:2], {"module": PROGRAM}))
            self.assertEqual("work", top(POLL, {**work, "function": "std::function<void ()>::operator()() const"},
                                         work, main, *self.START))
            self.assertEqual("work", top(POLL, work, {**main, "function": "main"}, *self.START))  # all is called by main
            self.assertEqual("main", top(POLL, {**main, "function": "main"}, *self.START))
            # The program's own functions are blamed as ever, with a name or without one.
            self.assertEqual("tick", top(POLL, {"module": PROGRAM, "function": "tick"}, work, main, *self.START))
            self.assertIsNone(top(POLL, work, main, {**main, "function": "main"}, *self.START))
            self.assertIsNone(top(POLL, work, main, main, *self.START))
            self.assertIsNone(top(POLL, main, work, main, *self.START))
            self.assertIsNone(top(POLL, {**main, "share": 0.3}, work, main, *self.START))
            self.assertIsNone(top(POLL, {"module": LIBRARY}, main, *self.START))
            self.assertIsNone(top(POLL, main, *self.START))
            self.assertIsNone(top(POLL, work, main))  # which need not be its main
            self.assertIsNone(top(POLL, work, main, {"module": LIBC, "function": "start_thread"}))


class Toolkits(unittest.TestCase):
    """A program whose loop is a library's: what the loop calls is in the way, not what calls the loop."""
    PANGO, GTK, GLIB = ("/usr/lib/x86_64-linux-gnu/" + name for name in ("libpango-1.0.so.0", "libgtk-3.so.0", "libglib-2.0.so.0"))
    MAIN = {"module": PROGRAM, "function": "main"}

    @staticmethod
    def library(function=None, **more):
        return {"module": LIBRARY, **({"function": function} if function else {}), **more}

    def own(self, *frames, library=GTK, **app):
        return own(POLL, *frames, *ProgramsInLibraries.START, library=library, **app)

    def test_the_innermost_function_that_the_loop_calls_is_blamed(self):
        run = self.library("g_application_run")
        layout, draw = self.library("pango_default_break", share=0.6), self.library("gtk_widget_draw")
        for caller in (self.MAIN, {**self.MAIN, "file": "/srv/app.c", "line": 9}, {"module": PROGRAM, "function": "run_app"}, {"module": PROGRAM}):
            self.assertEqual("pango_default_break", self.own(self.library(), layout, self.library(), draw, run, caller))
        self.assertEqual("gtk_widget_draw", self.own({**layout, "share": 0.4}, draw, run, self.MAIN))
        self.assertEqual("g_idle", self.own(self.library("g_idle"), self.library("QEventLoop::exec(QFlags<QEventLoop::Flag>)"), self.MAIN))

    def test_what_passes_calls_on_and_the_c_library_are_not(self):
        glib = "/usr/lib/x86_64-linux-gnu/libgobject-2.0.so.0"
        self.assertEqual("main", self.own(self.library("g_signal_emit"), self.library("gtk_main"), self.MAIN, library=glib))
        self.assertEqual("main", self.own({"module": LIBC, "function": "memmove"}, self.library("gtk_main"), self.MAIN))
        self.assertEqual("main", self.own(self.library(), self.library("gtk_main"), self.MAIN))

    def test_a_function_of_the_program_that_the_loop_calls_is(self):
        run, on_click = self.library("gtk_main"), {"module": PROGRAM, "function": "on_click"}
        self.assertEqual("on_click", self.own(self.library("g_sort"), on_click, run, self.MAIN))
        self.assertIsNone(self.own(self.library("g_sort"), {"module": PROGRAM}, run, self.MAIN))  # it has no name
        self.assertEqual("g_sort", self.own(self.library("g_sort"), self.library("gtk_dialog_run"), on_click, run, self.MAIN))
        self.assertEqual("on_click", self.own(python("on_click", "/srv/a.py"), run, python("<module>", "/srv/a.py"), self.MAIN))
        self.assertEqual("g_sort", self.own(self.library("g_sort"), run, python("<module>", "/srv/a.py"), self.MAIN))

    def test_a_library_in_a_folder_of_the_programs_name_is_the_programs(self):
        for program, library, mine in (("/usr/bin/gedit", "/usr/lib/x86_64-linux-gnu/gedit/libgedit-44.so", True),
                                       ("/usr/bin/gimp-2.10", "/usr/lib/gimp/2.0/plug-ins/x.so", True),
                                       ("/usr/lib/firefox-esr/firefox-esr", "/usr/lib/firefox-esr/libxul.so", True),
                                       ("/usr/bin/gedit", "/usr/lib/x86_64-linux-gnu/libgedit-44.so", False),
                                       ("/usr/bin/ged", "/usr/lib/x86_64-linux-gnu/gedit/libgedit-44.so", False),
                                       ("/usr/bin/perl", "/usr/lib/x86_64-linux-gnu/perl/5.36/auto/IO/IO.so", False),
                                       ("/usr/lib/postgresql/15/bin/postgres", "/usr/lib/postgresql/15/lib/plpgsql.so", False)):
            run = {"module": LIBC, "function": "gtk_main"}  # of a third module
            blamed = self.own(self.library(), run, self.MAIN, library=library, executable=program)
            self.assertEqual(None if mine else "main", blamed, library)  # it has no name, and stands before main

    def test_the_screen_names_the_libraries(self):
        frames = [POLL, self.library("g_utf8_pointer_to_offset"), self.library(), self.library("g_main_loop_run"), self.MAIN]
        self.assertRegex(told(frames, "show", "latest", library=self.GLIB),
                         r"(?s)\A\S+ .* in g_utf8_pointer_to_offset \(libglib-2\.0\), app\[.*\n"
                         r"  > g_utf8_pointer_to_offset  libglib-2\.0  in poll\n    main\n")
        recursion = [POLL, *[self.library("gtk_widget_draw")] * 3, self.library("g_main_loop_run"), self.MAIN]
        self.assertRegex(told(recursion, "show", "latest", library=self.GTK), r"\n  > gtk_widget_draw  +libgtk-3  +in poll\n    main\n")
        self.assertRegex(told(frames, "show", "latest", library=self.PANGO), r"in g_utf8_pointer_to_offset \(libpango-1\.0\), app\[")


class Begins(unittest.TestCase):
    def test_who_returns_to_where_a_function_begins_was_not_called_by_the_one_before_it(self):
        with tempfile.TemporaryDirectory() as folder:
            code = "".join(f".globl {name}; .type {name}, @function; {name}: .zero 16; .size {name}, 16\n" for name in ("first", "second"))
            subprocess.run(["gcc", "-x", "assembler", "-", "-shared", "-nostdlib", "-Wl,--build-id=none", "-o", folder + "/app"],
                           input=code, text=True, check=True)
            symbols = subprocess.run(["nm", folder + "/app"], check=True, capture_output=True, text=True).stdout
            first, second = (int(re.search(rf"(\w+) T {name}\n", symbols)[1], 16) for name in ("first", "second"))
            for start, name in (second, "second"), (second - 1, "second"), (first, "first"):
                now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
                frame = {"module": PROGRAM, "offset": hex(second), "start": hex(start), "trust": "cfi"}
                self.assertRegex(told([POLL, frame], "show", "latest", executable=folder + "/app", started_at=now),
                                 rf" in {name}, app\[(?s:.*)\n  > {name} +in poll\n")


class StandardLibraries(unittest.TestCase):
    """What is linked or inlined into a program is not the program's own code."""

    def test_rusts_is_told_by_its_file(self):
        tick = {"module": PROGRAM, "function": "app::tick", "file": "/home/u/src/main.rs", "line": 3}
        for folder in ("/rustc/0123456789abcdef", "/rust/deps/hashbrown-0.16.1", "/usr/src/rustc-1.63.0",
                       "/home/u/.rustup/toolchains/stable/lib/rustlib/src/rust"):
            sleep = {"module": PROGRAM, "function": "std::thread::sleep", "file": folder + "/library/std/src/thread/mod.rs"}
            self.assertEqual("app::tick", own(POLL, sleep, tick), folder)

    def test_rusts_is_told_by_the_folder_that_it_was_compiled_in(self):
        """Its own units tell that folder, and its files below it: library/std/src/thread/mod.rs."""
        sources = {"library/core/src/spin.h": "static inline __attribute__((always_inline)) void spin(void) {"
                                              " __asm__ volatile(\".globl in_spin\\nin_spin: nop\"); }\n",
                   "library/std/src/thread.c": "#include \"../../core/src/spin.h\"\nvoid std_sleep(void) { spin(); }\n",
                   "tick.c": "void std_sleep(void);\nvoid app_tick(void) { std_sleep(); }\nint main(void) { app_tick(); }\n"}
        for version in "4", "5":
            with tempfile.TemporaryDirectory() as folder:
                for name, text in sources.items():
                    (pathlib.Path(folder) / name).parent.mkdir(parents=True, exist_ok=True)
                    (pathlib.Path(folder) / name).write_text(text)
                for where, source in ("/rustc/0123456789abcdef", "library/std/src/thread.c"), ("/home/u/app", "tick.c"):
                    subprocess.run(["gcc", "-gdwarf-" + version, f"-fdebug-prefix-map={folder}={where}", "-c", source],
                                   check=True, cwd=folder)
                subprocess.run(["gcc", "-Wl,--build-id=none", "thread.o", "tick.o", "-o", "app"], check=True, cwd=folder)
                symbols = subprocess.run(["nm", "app"], check=True, capture_output=True, text=True, cwd=folder).stdout
                frames = [{"module": PROGRAM, "offset": hex(int(re.search(rf"(\w+) T {name}\n", symbols)[1], 16) + 1)}
                          for name in ("in_spin", "app_tick")]
                now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
                out = told([POLL, *frames], "show", "latest", "--json", executable=folder + "/app", started_at=now)
                files = [frame.get("file") for frame in json.loads(out)["hot_stack"]["frames"]]
                self.assertEqual(["/rustc/0123456789abcdef/library/std/src/../../core/src/spin.h",
                                  "/rustc/0123456789abcdef/library/std/src/thread.c", "/home/u/app/tick.c"], files[1:])
                out = told([POLL, *frames], "list", "--json", executable=folder + "/app", started_at=now)
                self.assertEqual("app_tick", json.loads(out)[0]["function"])

    def test_rusts_is_told_by_the_names_of_its_newer_mangling(self):
        """Without debug information; what a compiler of Rust's makes is a name, which C can give."""
        names = ["_RNvNtNtCsjrHSEGnQ3l9_3std6thread9functions5sleep", "_RINvCs6xxl1lAjzDf_3app4tickNtB2_3BigEB2_"]
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "app.c").write_text(
                f"void std_sleep(void) __asm__(\"{names[0]}\");\nvoid app_tick(void) __asm__(\"{names[1]}\");\n"
                "void std_sleep(void) {}\nvoid app_tick(void) { std_sleep(); }\nint main(void) { app_tick(); }\n")
            subprocess.run(["gcc", "-Wl,--build-id=none", "app.c", "-o", "app"], check=True, cwd=folder)
            symbols = subprocess.run(["nm", "app"], check=True, capture_output=True, text=True, cwd=folder).stdout
            frames = [{"module": PROGRAM, "offset": hex(int(re.search(rf"(\w+) T {name}\n", symbols)[1], 16) + 1)} for name in names]
            now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
            out = told([POLL, *frames], "show", "latest", "--all-frames", executable=folder + "/app", started_at=now)
            self.assertRegex(out, r" in app::tick::<app::Big>, app\[(?s:.*)\n  > app::tick::<app::Big>  .* in std::thread::functions::sleep\n")
            self.assertIn("  std::thread::functions::sleep  ", out)
            out = told([POLL, *frames], "list", "--json", executable=folder + "/app", started_at=now)
            self.assertEqual("app::tick::<app::Big>", json.loads(out)[0]["function"])

    def test_cpps_is_told_by_its_file_wherever_the_compiler_is(self):
        tick = {"module": PROGRAM, "function": "app::tick()", "file": "/home/u/src/main.cc", "line": 3}
        for folder in ("/opt/rh/gcc-toolset-13/root/usr/include/c++/13", "/home/u/conda/x86_64-conda-linux-gnu/include/c++/12",
                       "/usr/include/c++/12"):
            wait = {"module": PROGRAM, "function": "wait_for<int>", "file": folder + "/bits/x.h", "inlined": True}
            self.assertEqual("app::tick()", own(POLL, wait, tick), folder)

    def test_rusts_is_told_by_its_name_where_there_are_no_lines(self):
        def top(name):
            return own(POLL, {"module": PROGRAM, "function": name}, {"module": PROGRAM, "function": "app::main"})

        for name in ("core::fmt::write", "alloc::vec::Vec<T>::push", "std::thread::sleep",
                     "<alloc::vec::Vec<T> as core::clone::Clone>::clone", "<&mut W as core::fmt::Write>::write_str",
                     "<i32 as core::fmt::Display>::fmt", "hashbrown::map::HashMap<K,V,S,A>::insert", "__rustc::rust_begin_unwind",
                     "__rustc::__rdl_alloc", "panic_unwind::imp::panic"):
            self.assertEqual("app::main", top(name), name)
        for name in ("core::App::run()", "<app::Big as core::fmt::Display>::fmt", "<&mut app::Big as core::fmt::Write>::f",
                     "<alloc::vec::Vec<u8> as app::Encode>::encode", "<i32 as app::Encode>::encode", "corelation"):
            self.assertEqual(name, top(name))
        # The newer mangling has generics as they were filled.
        for name in ("core::ptr::drop_in_place::<(app::Big, u8)>", "<alloc::vec::Vec<app::Big>>::push",
                     "<hashbrown::raw::RawTable<(app::Big, u8)> as core::ops::drop::Drop>::drop",
                     "std::thread::lifecycle::spawn_unchecked::<app::main::{closure#3}, ()>", "<str>::trim",
                     "<[app::Big]>::sort::<fn(&app::Big) -> u8>", "<*const app::Big>::read",
                     "<(app::Big, app::Big) as core::hash::Hash>::hash::<app::Hasher>",
                     "<core::iter::Map<core::slice::Iter<u8>, <app::Big as app::Run>::run::{closure#0}> as core::iter::Iterator>::fold"):
            self.assertEqual("app::main", top(name), name)
        for name in ("app::run::<core::fmt::Formatter>", "<app::Big>::sort", "<&app::Big as core::fmt::Debug>::fmt",
                     "<app::main::{closure#0} as core::ops::function::FnOnce<()>>::call_once", "<[u8] as app::Encode>::encode",
                     "<<app::Big as core::ops::Deref>::Target as core::fmt::Debug>::fmt", "core::App<int>::run(int)"):
            self.assertEqual(name, top(name))


if __name__ == "__main__":
    main()
