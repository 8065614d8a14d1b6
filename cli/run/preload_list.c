/* SPDX-License-Identifier: MIT
 *
 * Ordinary code: which sanitizers' runtimes go before the preload library. Each refuses to start, or misses
 * what was allocated before it, when another library comes first in its process.
 */
#include "cli/run/preload_list.h"

#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/run/program_check.h"

/* libasan.so.8, /usr/lib/gcc/.../libtsan.so, clang's libclang_rt.asan-x86_64.so, and so on. */
static bool is_runtime(const char *path, size_t length) {
    static const char *const kinds[] = {"libasan.so",        "libtsan.so",        "libubsan.so",
                                        "liblsan.so",        "libhwasan.so",      "libclang_rt.asan",
                                        "libclang_rt.tsan",  "libclang_rt.ubsan", "libclang_rt.lsan",
                                        "libclang_rt.hwasan"};
    const char *name = path;
    for (size_t i = 0; i < length; i++) {
        name = path[i] == '/' ? path + i + 1 : name;
    }
    size_t left = length - (size_t)(name - path);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        size_t n = strlen(kinds[i]);
        if (left >= n && memcmp(name, kinds[i], n) == 0 && (left == n || strchr(".-_", name[n]) != NULL)) {
            return true;
        }
    }
    return false;
}

static bool has_entry(const char *list, const char *entry, size_t length) {
    for (const char *p = list; *p != '\0';) {
        size_t n = strcspn(p, ":");
        if (n == length && memcmp(p, entry, n) == 0) {
            return true;
        }
        p += n + (p[n] == ':');
    }
    return false;
}

static void add_entry(char *list, size_t size, const char *entry, size_t length) {
    size_t used = strlen(list);
    if (length > 0 && used + (used > 0) + length < size) {
        snprintf(list + used, size - used, "%s%.*s", used > 0 ? ":" : "", (int)length, entry);
    }
}

static void add_runtime(char *list, size_t size, const char *entry, size_t length) {
    if (is_runtime(entry, length) && !has_entry(list, entry, length)) {
        add_entry(list, size, entry, length);
    }
}

/* The runtimes among the libraries that a dynamic section asks for. */
static void add_of_section(char *list, size_t size, Elf *elf, Elf_Scn *section, const GElf_Shdr *header) {
    Elf_Data *data = elf_getdata(section, NULL);
    if (data == NULL || header->sh_entsize == 0) {
        return;
    }
    for (size_t i = 0; i < header->sh_size / header->sh_entsize; i++) {
        GElf_Dyn entry;
        if (gelf_getdyn(data, (int)i, &entry) == NULL || entry.d_tag == DT_NULL) {
            return;
        }
        const char *name =
            entry.d_tag == DT_NEEDED ? elf_strptr(elf, header->sh_link, entry.d_un.d_val) : NULL;
        if (name != NULL) {
            add_runtime(list, size, name, strlen(name));
        }
    }
}

static void add_of_file(char *list, size_t size, const char *path) {
    struct stat st;
    bool regular = stat(path, &st) == 0 && S_ISREG(st.st_mode); /* a FIFO would have us wait for a writer */
    int fd = regular ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;
    Elf *elf = fd >= 0 && elf_version(EV_CURRENT) != EV_NONE ? elf_begin(fd, ELF_C_READ, NULL) : NULL;
    for (Elf_Scn *s = NULL; elf != NULL && (s = elf_nextscn(elf, s)) != NULL;) {
        GElf_Shdr header;
        if (gelf_getshdr(s, &header) != NULL && header.sh_type == SHT_DYNAMIC) {
            add_of_section(list, size, elf, s, &header);
        }
    }
    elf_end(elf);
    if (fd >= 0) {
        close(fd);
    }
}

void preload_list(char *list, size_t size, const char *own, const char *users, const char *program) {
    char path[PATH_MAX];
    list[0] = '\0';
    add_of_file(list, size, own);
    if (program_executed(program, path)) {
        add_of_file(list, size, path);
    }
    for (const char *p = users; p != NULL && *p != '\0';) { /* spaces divide too, as the loader has it */
        size_t n = strcspn(p, ": ");
        add_runtime(list, size, p, n);
        p += n + (p[n] != '\0');
    }
    add_entry(list, size, own, strlen(own));
    size_t used = strlen(list);
    if (users != NULL && users[0] == '\0') {
        snprintf(list + used, size - used,
                 ":"); /* of which the preload leaves the empty one that the user had */
    } else if (users != NULL) {
        add_entry(list, size, users, strlen(users));
    }
}
