/* SPDX-License-Identifier: MIT
 *
 * insertable arm64|x86_64 FILE...: whether macOS inserts a library into a program of the file, a line for
 * each.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "image/macho/format.h"
#include "image/macho/insertable.h"

static int read_fd(void *ctx, uint64_t at, void *to, size_t n) {
    const int *fd = ctx;
    return pread(*fd, to, n, (off_t)at) == (ssize_t)n ? 0 : -1;
}

int main(int argc, char **argv) {
    static const char *const names[] = {"fine",       "no-program", "other-cpu", "arm64e",
                                        "restricted", "hardened",   "validated"};
    for (int i = 2; i < argc; i++) {
        struct stat st;
        struct hd_insert_facts facts;
        int fd = open(argv[i], O_RDONLY | O_CLOEXEC);
        struct hd_memory file = {.read = read_fd, .ctx = &fd};
        if (fd < 0 || fstat(fd, &st) != 0) {
            return 2;
        }
        uint32_t cpu = strcmp(argv[1], "arm64") == 0 ? HD_MACHO_CPU_ARM64 : HD_MACHO_CPU_X86_64;
        enum hd_insertable how = hd_macho_insertable(&file, (uint64_t)st.st_size, cpu, &facts);
        printf("%s %s\n", names[how], facts.is_signed ? "signed" : "unsigned");
        close(fd);
    }
    return 0;
}
