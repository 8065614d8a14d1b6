/* SPDX-License-Identifier: MIT */
#include "cli/outside/go_program.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/shell_quote.h"

#define SECTIONS_MAX 256u /* read ones: Go's programs have some 30 */

static bool read_at(int fd, uint64_t at, void *to, size_t bytes) {
    return at <= INT64_MAX && pread(fd, to, bytes, (off_t)at) == (ssize_t)bytes;
}

bool go_program_file(int fd) {
    static const char wanted[] = ".go.buildinfo";
    Elf64_Ehdr file;
    Elf64_Shdr names, section;
    if (!read_at(fd, 0, &file, sizeof file) || memcmp(file.e_ident, ELFMAG, SELFMAG) != 0 ||
        file.e_ident[EI_CLASS] != ELFCLASS64 || file.e_shentsize != sizeof section ||
        !read_at(fd, file.e_shoff + (uint64_t)file.e_shstrndx * sizeof names, &names, sizeof names)) {
        return false;
    }
    for (unsigned i = 0; i < file.e_shnum && i < SECTIONS_MAX; i++) {
        char name[sizeof wanted];
        if (read_at(fd, file.e_shoff + i * sizeof section, &section, sizeof section) &&
            read_at(fd, names.sh_offset + section.sh_name, name, sizeof name) &&
            memcmp(name, wanted, sizeof name) == 0) {
            return true;
        }
    }
    return false;
}

bool go_program_runs(const struct live_process *p, struct problem *why) {
    int fd = openat(p->proc_fd, "exe", O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool is_go = fd >= 0 && go_program_file(fd);
    if (fd >= 0) {
        close(fd);
    }
    if (is_go) {
        error_set(why,
                  "cannot %s process %d: it is a program of Go, and none of its threads has an event loop",
                  p->command->verb, p->pid);
        error_try(why, "%s dump %d", shell_own_command(), p->pid);
    }
    return is_go;
}
