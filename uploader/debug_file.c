/* SPDX-License-Identifier: MIT */
#include "uploader/debug_file.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A stripped file names nothing: neither a table of symbols nor debug information is in it. */
static bool has_names(Elf *elf) {
    size_t names = 0;
    if (elf_getshdrstrndx(elf, &names) != 0) {
        return false;
    }
    for (Elf_Scn *scn = elf_nextscn(elf, NULL); scn != NULL; scn = elf_nextscn(elf, scn)) {
        GElf_Shdr head;
        const char *name = gelf_getshdr(scn, &head) != NULL ? elf_strptr(elf, names, head.sh_name) : NULL;
        if (name != NULL && head.sh_type != SHT_NOBITS &&
            (head.sh_type == SHT_SYMTAB || strcmp(name, ".debug_info") == 0)) {
            return true;
        }
    }
    return false;
}

/* What the file lacks; NULL: nothing. */
static const char *read_elf(struct debug_file *f) {
    elf_version(EV_CURRENT);
    Elf *elf = elf_begin(f->fd, ELF_C_READ, NULL);
    const void *id = NULL;
    ssize_t bytes = elf != NULL && elf_kind(elf) == ELF_K_ELF ? dwelf_elf_gnu_build_id(elf, &id) : -1;
    const char *lacks = bytes < 0                                               ? "it is no ELF file"
                        : bytes == 0 || 2 * (size_t)bytes >= sizeof f->build_id ? "it has no build-id"
                        : !has_names(elf) ? "it has no symbols and no debug information"
                                          : NULL;
    for (ssize_t i = 0; lacks == NULL && i < bytes; i++) {
        snprintf(f->build_id + 2 * i, 3, "%02x", ((const unsigned char *)id)[i]);
    }
    elf_end(elf);
    return lacks;
}

bool debug_file_open(const char *path, struct debug_file *out, struct problem *why) {
    struct stat st;
    *out = (struct debug_file){.fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)};
    if (out->fd < 0 || fstat(out->fd, &st) != 0) {
        error_set(why, "cannot send %s: %s", path, strerror(errno));
    } else if (!S_ISREG(st.st_mode)) {
        error_set(why, "cannot send %s: it is no regular file", path);
    } else {
        const char *lacks = read_elf(out);
        out->bytes = st.st_size;
        if (lacks == NULL) {
            return true;
        }
        error_set(why, "cannot send %s: %s", path, lacks);
    }
    if (out->fd >= 0) {
        close(out->fd);
    }
    return false;
}
