# SPDX-License-Identifier: MIT
"""The functions of SDL, Tcl and frames that the preload has in front: each caller reaches its own library, as it does without us."""

import os
import shutil
import subprocess
import tempfile
import unittest

from support_run import HANGDOG, PATIENCE, SANITIZER, Program, environment, main

PYTHON = "/usr/bin/python3"
NAMES = ("Tcl_WaitForEvent SDL_WaitEvent SDL_WaitEventTimeout SDL_PollEvent SDL_PumpEvents SDL_RenderPresent SDL_UpdateWindowSurface "
         "SDL_GL_SwapWindow glfwSwapBuffers eglSwapBuffers glXSwapBuffers vkQueuePresentKHR").split()

COPY = "int SDL_PollEvent(void *event) { (void)event; return NUMBER; }\n"
PLUG = "int SDL_PollEvent(void *); int plug(void) { return SDL_PollEvent(0); }\n"
HOST = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#ifdef LIKE_PYTHON
int _PyRuntime;
#endif

static void *plug(const char *path, int (**f)(void)) {
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    *f = handle ? (int (*)(void))dlsym(handle, "plug") : NULL;
    if (!*f) {
        puts(dlerror());
        exit(2);
    }
    return handle;
}

static void *open_and_close(void *seed) {
    unsigned random = (unsigned)(long)seed;
    for (int n = 0; n < 500; n++) {
        int (*f)(void), i = rand_r(&random) % 3 + 1;
        char path[64];
        sprintf(path, "./plug%d.so", i);
        void *handle = plug(path, &f);
        for (int k = 0; k < 20; k++) {
            if (f() != i * 101) {
                abort();
            }
        }
        dlclose(handle);
    }
    return NULL;
}

static const char *state(const char *path) {
    return dlopen(path, RTLD_NOW | RTLD_NOLOAD) ? "still loaded" : "unloaded";
}

int main(int argc, char **argv) {
    int (*f)(void), (*g)(void);
    char path[64], copy[64];
    poll(NULL, 0, 1);
    if (strcmp(argv[1], "names") == 0) {
        for (int i = 2; i < argc; i++) {
            printf("%s%s", dlsym(RTLD_DEFAULT, argv[i]) ? argv[i] : "", i + 1 < argc ? "" : "\n");
        }
    } else if (strcmp(argv[1], "two") == 0) {
        plug("./plug1.so", &f);
        plug("./plug2.so", &g);
        for (int i = 0; i < 3; i++) {
            printf("%d %d\n", f(), g());
        }
    } else if (strcmp(argv[1], "threads") == 0) {
        pthread_t thread[4];
        for (long i = 0; i < 4; i++) {
            pthread_create(&thread[i], NULL, open_and_close, (void *)(i + 1));
        }
        for (int i = 0; i < 4; i++) {
            pthread_join(thread[i], NULL);
        }
    } else if (strcmp(argv[1], "reload") == 0) {
        for (int i = 1; i <= 3; i++) {
            sprintf(path, "./plug%d.so", i);
            sprintf(copy, "./copy%d.so", i);
            void *handle = plug(path, &f);
            printf("%d ", f());
            dlclose(handle);
            printf("%s %s\n", state(path), state(copy));
        }
    } else if (strcmp(argv[1], "dangling") == 0) {
        for (int i = 1; i <= 3; i++) {
            sprintf(copy, "./copy%d.so", i);
            void *global = dlopen(copy, RTLD_NOW | RTLD_GLOBAL);
            void *handle = plug("./bare.so", &f);
            printf("%d\n", f());
            dlclose(handle);
            dlclose(global);
            for (int n = 0; n < 100; n++) { /* what is opened next has another place */
                mmap(NULL, 4096 * (n % 7 + 1), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            }
        }
    }
    return 0;
}
"""
# The same in Python, where our names stay in front.
SCRIPT = r"""
import ctypes, _ctypes, mmap, select, sys
select.poll().poll(1)
kept = []
def plug(path, mode=0):
    library = ctypes.CDLL(path, mode)
    return library, library._handle
def state(path):
    try:
        return "still loaded" if ctypes.CDLL(path, 4)._handle else ""  # RTLD_NOLOAD
    except OSError:
        return "unloaded"
if sys.argv[1] == "two":
    (f, _), (g, _) = plug("./plug1.so"), plug("./plug2.so")
    for i in range(3):
        print(f.plug(), g.plug())
elif sys.argv[1] == "reload":
    for i in 1, 2, 3:
        library, handle = plug("./plug%d.so" % i)
        print(library.plug(), end=" ")
        _ctypes.dlclose(handle)
        print(state("./plug%d.so" % i), state("./copy%d.so" % i))
elif sys.argv[1] == "dangling":
    for i in 1, 2, 3:
        _, copy = plug("./copy%d.so" % i, ctypes.RTLD_GLOBAL)
        library, handle = plug("./bare.so")
        print(library.plug())
        _ctypes.dlclose(handle)
        _ctypes.dlclose(copy)
        kept += [mmap.mmap(-1, 4096 * (n % 7 + 1)) for n in range(100)]
elif sys.argv[1] == "error":
    c = ctypes.CDLL(None)
    c.dlerror.restype = ctypes.c_char_p
    library, _ = plug("./plug1.so")
    print(library.plug(), c.dlerror())
"""
LINKED = r"""
#include <dlfcn.h>
#include <stdio.h>
int SDL_PollEvent(void *);
int main(void) {
    void *plug = dlopen("./plug2.so", RTLD_NOW | RTLD_LOCAL);
    int (*f)(void) = plug ? (int (*)(void))dlsym(plug, "plug") : 0;
    printf("%d %d %d %d\n", SDL_PollEvent(0), f ? f() : -1, dlsym(RTLD_DEFAULT, "SDL_PollEvent") != NULL,
           dlsym(RTLD_DEFAULT, "SDL_WaitEvent") != NULL);
    return 0;
}
"""
# A library of the program opens a plug-in before the preload's constructor has run.
EARLY = r"""
#include <dlfcn.h>
static int (*f)(void);
__attribute__((constructor)) static void open_it(void) {
    void *plug = dlopen("./plug2.so", RTLD_NOW | RTLD_LOCAL);
    f = plug ? (int (*)(void))dlsym(plug, "plug") : 0;
}
int early(void) { return f ? f() : -1; }
"""
USES_EARLY = r"""
#include <dlfcn.h>
#include <poll.h>
#include <stdio.h>
int early(void);
int main(void) {
    poll(NULL, 0, 1);
    printf("%d %d %d\n", early(), early(), dlsym(RTLD_DEFAULT, "SDL_PollEvent") != NULL);
    return 0;
}
"""
THROWER = "#include <stdexcept>\nextern \"C\" int SDL_PollEvent(void *e) { if (!e) throw std::runtime_error(\"none\"); return 0; }\n"
THROWS = r"""
#include <poll.h>
#include <stdexcept>
#include <stdint.h>
#include <sys/timerfd.h>
#include <unistd.h>
extern "C" int SDL_PollEvent(void *);
static __attribute__((noinline)) void freeze() { usleep(700000); }
int main() {
    try {
        SDL_PollEvent(nullptr);
    } catch (const std::runtime_error &) {
    }
    int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    itimerspec every = {{0, 20000000}, {0, 20000000}};
    timerfd_settime(timer, 0, &every, nullptr);
    for (int turn = 0; turn < 30; turn++) {
        pollfd fd = {timer, POLLIN, 0};
        poll(&fd, 1, -1);
        uint64_t times;
        (void)!read(timer, &times, sizeof times);
        if (turn == 20) {
            freeze();
        }
    }
    return 0;
}
"""


def compile_it(text, to, *options, language="c"):
    """A program, or by -shared a library; others are named by their files."""
    subprocess.run(["gcc" if language == "c" else "g++", "-g", "-O1", "-x", language, "-", "-x", "none", "-o", to, *options],
                   input=text.encode(), cwd=os.path.dirname(to), check=True)


@unittest.skipIf(SANITIZER, "the sanitizer's runtime stands in front of the loader's functions")
class EventLibraries(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = os.path.realpath(tempfile.mkdtemp(prefix="hangdog-test-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        for i in 1, 2, 3:
            compile_it(COPY.replace("NUMBER", str(100 * i + i)), cls.path("copy%d.so" % i), "-shared", "-fPIC")
            compile_it(PLUG, cls.path("plug%d.so" % i), "-shared", "-fPIC", "./copy%d.so" % i, "-Wl,-z,now")
        compile_it(PLUG, cls.path("bare.so"), "-shared", "-fPIC")
        compile_it(HOST, cls.path("host"), "-ldl", "-pthread")
        compile_it(HOST, cls.path("python"), "-ldl", "-pthread", "-DLIKE_PYTHON", "-rdynamic")
        compile_it(LINKED, cls.path("linked"), "./copy1.so", "-ldl")
        compile_it(EARLY, cls.path("libearly.so"), "-shared", "-fPIC", "-ldl")
        compile_it(USES_EARLY, cls.path("uses_early"), "./libearly.so", "-ldl")
        compile_it(THROWER, cls.path("thrower.so"), "-shared", "-fPIC", "-Wl,-soname,thrower.so", language="c++")
        compile_it(THROWS, cls.path("throws"), "./thrower.so", "-Wl,-rpath,$ORIGIN", language="c++")

    @classmethod
    def path(cls, name):
        return os.path.join(cls.folder, name)

    def output(self, *argv, watched=True):
        head = [HANGDOG, "run", "--spool", self.path("spool"), "--"] if watched else []
        done = subprocess.run([*head, *argv], cwd=self.folder, env=environment(), text=True, capture_output=True, timeout=PATIENCE,
                              check=False)
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        return done.stdout

    def assert_same(self, *argv):
        plain = self.output(*argv, watched=False)
        self.assertEqual(plain, self.output(*argv))
        return plain

    def test_a_program_without_these_libraries_has_none_of_our_names_in_front(self):
        self.assertEqual("\n", self.assert_same("./host", "names", *NAMES))

    def test_a_program_that_is_linked_to_one_has_its_names_only(self):
        self.assertEqual("101 101 1 0\n", self.assert_same("./linked"))

    def test_a_plug_in_that_a_librarys_constructor_opens(self):
        self.assertEqual("202 202 0\n", self.assert_same("./uses_early"))

    def test_two_plug_ins_with_their_own_copies_reach_them(self):
        for host in (["./host"], [PYTHON, "-c", SCRIPT]):
            with self.subTest(host[0]):
                self.assertEqual("101 202\n" * 3, self.assert_same(*host, "two"))

    def test_a_closed_library_is_unloaded(self):
        for host in (["./host"], [PYTHON, "-c", SCRIPT]):
            with self.subTest(host[0]):
                self.assertEqual("101 unloaded unloaded\n202 unloaded unloaded\n303 unloaded unloaded\n", self.assert_same(*host, "reload"))

    def test_a_library_that_is_opened_again_at_another_place(self):
        for host in (["./host"], [PYTHON, "-c", SCRIPT]):
            with self.subTest(host[0]):
                self.assertEqual("101\n202\n303\n", self.assert_same(*host, "dangling"))

    def test_threads_that_open_and_close_libraries_at_once(self):
        self.assert_same("./python", "threads")

    def test_the_loaders_error_is_none_of_ours(self):
        self.assertEqual("101 None\n", self.assert_same(PYTHON, "-c", SCRIPT, "error"))

    def test_an_exception_that_leaves_such_a_call_leaves_no_trace(self):
        program = Program([self.path("throws")], options=["--threshold", "300"])
        self.addCleanup(program.close)
        self.assertEqual(0, program.wait(), program.errors)
        self.assertRegex(program.errors, r"hangdog: hang of [\d.]+ m?s in freeze")


if __name__ == "__main__":
    main()
