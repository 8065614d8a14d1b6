/* SPDX-License-Identifier: MIT */
#include "image/elf/elf_file.h"

#include <string.h>

#include "os/os.h"

#define SEGMENTS_MAX 128u
#define SECTIONS_MAX 65536u

static bool read_at(int fd, uint64_t at, void *to, size_t n) {
    return hd_os.pread(fd, to, n, at) == (long)n;
}

bool hd_elf_file_read(struct hd_elf_file *f, int fd) {
    f->fd = fd;
    return read_at(fd, 0, &f->head, sizeof f->head) && memcmp(f->head.e_ident, ELFMAG, SELFMAG) == 0;
}

bool hd_elf_file_segment(const struct hd_elf_file *f, unsigned i, ElfW(Phdr) * p) {
    return i < f->head.e_phnum && i < SEGMENTS_MAX &&
           read_at(f->fd, f->head.e_phoff + i * sizeof *p, p, sizeof *p);
}

bool hd_elf_file_section(const struct hd_elf_file *f, unsigned i, ElfW(Shdr) * s) {
    return f->head.e_shentsize == sizeof *s && i < f->head.e_shnum && i < SECTIONS_MAX &&
           read_at(f->fd, f->head.e_shoff + i * sizeof *s, s, sizeof *s);
}

bool hd_elf_file_section_called(const struct hd_elf_file *f, const char *name, ElfW(Shdr) * s) {
    ElfW(Shdr) names;
    char there[32];
    size_t n = strlen(name) + 1;
    if (n > sizeof there || !hd_elf_file_section(f, f->head.e_shstrndx, &names)) {
        return false;
    }
    for (unsigned i = 0; hd_elf_file_section(f, i, s); i++) {
        if (read_at(f->fd, names.sh_offset + s->sh_name, there, n) && memcmp(there, name, n) == 0) {
            return true;
        }
    }
    return false;
}

bool hd_elf_file_loader(const struct hd_elf_file *f, char *path, size_t size) {
    path[0] = '\0';
    for (unsigned i = 0; i < f->head.e_phnum && i < SEGMENTS_MAX; i++) {
        ElfW(Phdr) p;
        if (!hd_elf_file_segment(f, i, &p)) {
            return false;
        }
        if (p.p_type == PT_INTERP) {
            bool good = p.p_filesz > 0 && p.p_filesz < size && read_at(f->fd, p.p_offset, path, p.p_filesz);
            path[good ? p.p_filesz : 0] = '\0';
            return good;
        }
    }
    return true;
}

bool hd_elf_script_interpreter(const char *head, char *path, size_t size) {
    if (strncmp(head, "#!", 2) != 0) {
        return false;
    }
    size_t n = 0;
    for (head += 2; *head == ' ' || *head == '\t'; head++) {
    }
    for (; n + 1 < size && head[n] != '\0' && head[n] != ' ' && head[n] != '\t' && head[n] != '\n'; n++) {
        path[n] = head[n];
    }
    path[n] = '\0';
    return n > 0;
}
