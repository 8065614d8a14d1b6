/* SPDX-License-Identifier: MIT
 *
 * Runs a program for macOS on Linux, on the same kind of CPU, with a fake libSystem.
 *
 *   apple-loader [-L FOLDER]... PROGRAM [ARGUMENT]...
 *   apple-loader --stubs kernel|system     the assembly of libsystem_kernel.dylib or libSystem.B.dylib
 */
#include <err.h>
#include <string.h>
#include <unistd.h>

#include "gate.h"
#include "images.h"
#include "import.h"
#include "process.h"
#include "thread.h"

int main(int argc, char **argv) {
    if (argc == 3 && !strcmp(argv[1], "--stubs")) {
        import_write_stubs(stdout, !strcmp(argv[2], "kernel"));
        return 0;
    }
    int at = 1;
    for (; at + 1 < argc && !strcmp(argv[at], "-L"); at += 2) {
        images_add_folder(argv[at + 1]);
    }
    if (at >= argc) {
        errx(2, "usage: apple-loader [-L FOLDER]... PROGRAM [ARGUMENT]...");
    }
    thread_suspend_install();
    thread_adopt();
    if (!images_load("libsystem_kernel.dylib") || !images_load("libSystem.B.dylib")) {
        errx(2, "no folder of -L has libsystem_kernel.dylib and libSystem.B.dylib");
    }
    images_load_inserted();
    const struct image *program = images_load(argv[at]);
    if (!program || !program->entry) {
        errx(2, "%s: no program", argv[at]);
    }
    images_start(argc - at, argv + at, environ);
    process_exit((int)gate_call_darwin(program->entry, (uint64_t)(argc - at), (uint64_t)(argv + at),
                                       (uint64_t)environ, images_symbol("start")));
}
