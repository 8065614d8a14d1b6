/* SPDX-License-Identifier: MIT
 *
 * Reads a function's address from the full symbol table of an ELF file. The symbol table that a module has in
 * memory does not suffice: it has only exported functions, and a program exports few. The file may be
 * garbage, so the code checks each value and bounds each loop.
 */
#include "image/file_symbol.h"

#include <fcntl.h>
#include <string.h>

#include "image/elf/elf_file.h"
#include "os/os.h"

/* The largest number of places in the file's table of symbol names that the code considers for one name. A
 * name occurs at several places if longer names end with it. */
#define OFFSETS_MAX 16u

struct offsets {
    uint64_t at[OFFSETS_MAX];
    uint32_t count;
};

static bool read_at(int fd, uint64_t at, void *to, size_t n) {
    return hd_os.pread(fd, to, n, at) == (long)n;
}

/* Finds the ELF file's section of symbols, and the section of the symbols' names. */
static bool find_sections(int fd, Elf64_Shdr *symbols, Elf64_Shdr *names) {
    struct hd_elf_file f;
    bool elf = hd_elf_file_read(&f, fd);
    for (uint32_t i = 0; elf && hd_elf_file_section(&f, i, symbols); i++) {
        if (symbols->sh_type == SHT_SYMTAB) {
            return hd_elf_file_section(&f, symbols->sh_link, names);
        }
    }
    return false;
}

static void find_name(int fd, const Elf64_Shdr *names, const char *name, struct offsets *p) {
    char piece[4096];
    /* the length of `name` with its NUL, so that a longer name that begins like `name` does not match */
    size_t n = strlen(name) + 1;
    p->count = 0;
    for (uint64_t at = 0; at + n <= names->sh_size && n <= sizeof piece / 2;) {
        uint64_t rest = names->sh_size - at;
        size_t bytes = rest < sizeof piece ? (size_t)rest : sizeof piece;
        if (!read_at(fd, names->sh_offset + at, piece, bytes)) {
            return;
        }
        for (size_t i = 0; i + n <= bytes; i++) {
            if (piece[i] == name[0] && memcmp(piece + i, name, n) == 0 && p->count < OFFSETS_MAX) {
                p->at[p->count++] = at + i;
            }
        }
        at += bytes - n + 1;
    }
}

static uint64_t find_function(int fd, const Elf64_Shdr *symbols, const struct offsets *p) {
    Elf64_Sym piece[128];
    uint64_t count = symbols->sh_size / sizeof *piece;
    for (uint64_t done = 0; done < count && p->count > 0;) {
        size_t n = count - done < 128 ? (size_t)(count - done) : 128;
        if (!read_at(fd, symbols->sh_offset + done * sizeof *piece, piece, n * sizeof *piece)) {
            return 0;
        }
        for (size_t i = 0; i < n; i++) {
            for (uint32_t k = 0; k < p->count && ELF64_ST_TYPE(piece[i].st_info) == STT_FUNC; k++) {
                if (piece[i].st_name == p->at[k] && piece[i].st_value != 0) {
                    return piece[i].st_value;
                }
            }
        }
        done += n;
    }
    return 0;
}

uint64_t hd_file_symbol(const char *path, const char *name) {
    Elf64_Shdr symbols, names;
    struct offsets offsets;
    uint64_t found = 0;
    int fd = hd_os.open_at(AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
    if (fd < 0) {
        return 0;
    }
    if (find_sections(fd, &symbols, &names)) {
        find_name(fd, &names, name, &offsets);
        found = find_function(fd, &symbols, &offsets);
    }
    hd_os_close(fd);
    return found;
}
