/* SPDX-License-Identifier: MIT
 *
 * Modules of the libdw symbolizer: a file, opened only when it is the very one that ran. Ordinary code.
 */
#include "symbolizer/dw.h"

#include "base/types.h"
#include "symbolizer/regular_file.h"
#include "symbolizer/remote.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *keep_reason(struct symbolizer *s, const char *what, const char *why) {
    char text[256];
    snprintf(text, sizeof text, why != NULL ? "%s: %s" : "%s", what, why);
    const char *kept = strings_keep(&s->strings, text);
    return kept != NULL ? kept : "out of memory";
}

/* The vDSO, the kernel's module, has no file: opens a copy of this process's vDSO. All processes under one
 * kernel have the same. The build-id shows whether the report's kernel was another one. */
static int open_vdso(void) {
    const char *image = (const char *)getauxval(AT_SYSINFO_EHDR);
    Elf64_Ehdr head;
    if (image == NULL) {
        return -1;
    }
    memcpy(&head, image, sizeof head);
    size_t bytes =
        head.e_shoff + (size_t)head.e_shnum * head.e_shentsize; /* the section headers are the last part */
    int fd = memfd_create("vdso", MFD_CLOEXEC);
    if (fd >= 0 && write(fd, image, bytes) != (ssize_t)bytes) {
        close(fd);
        return -1;
    }
    return fd;
}

/* The file, or -1 where another process reads it. */
static int here_or_remote(struct symbolizer *s, struct module *m, int fd, const struct stat *st) {
    if (remote_may_read_here(s, m, st)) {
        return fd;
    }
    close(fd);
    m->remote = remote_for(s, st);
    m->reason = m->remote == NULL ? "out of memory" : NULL;
    return -1;
}

static int open_given(struct symbolizer *s, struct module *m, unsigned which) {
    struct stat st = {0};
    int fd = s->open(s->open_arg, m->path, which);
    if (fd < 0) {
        m->reason = "its file cannot be opened";
        return -1;
    }
    if (s->worker == NULL) {
        return fd;
    }
    if (fstat(fd, &st) != 0) {
        st.st_uid = (uid_t)-1;
    }
    return here_or_remote(s, m, fd, &st);
}

/* Opens the file when it is an ordinary one. `which`: the first, second ... that it may be. */
static int open_file(struct symbolizer *s, struct module *m, unsigned which) {
    struct stat st;
    if (strncmp(m->path, "linux-vdso.so", 13) == 0 || strcmp(m->path, "[vdso]") == 0) {
        int vdso = open_vdso();
        m->reason = vdso < 0 ? "it is the kernel's" : NULL;
        return vdso;
    }
    if (m->file[0] != '/') {
        m->reason = "it is no file";
        return -1;
    }
    if (s->open != NULL) {
        return open_given(s, m, which);
    }
    int fd = regular_file_open(m->file, &st);
    if (fd < 0) {
        m->reason = errno == 0 ? "it is no ordinary file"
                               : keep_reason(s, "its file cannot be opened", strerror(errno));
        return -1;
    }
    /* A package manager and cp -p keep the date of the build. The inode's change shows when the file came
     * here. */
    m->changed_s = st.st_mtime > st.st_ctime ? st.st_mtime : st.st_ctime;
    return here_or_remote(s, m, fd, &st);
}

static bool is_same_build(Dwfl_Module *module, const char *wanted) {
    const unsigned char *bits;
    GElf_Addr at;
    int n = dwfl_module_build_id(module, &bits, &at);
    size_t have = n > 0 ? (size_t)n : 0, want = wanted == NULL ? 0 : strlen(wanted);
    if (want == 2 * HD_BUILD_ID_MAX && have > HD_BUILD_ID_MAX) {
        have = HD_BUILD_ID_MAX; /* a report has only so many bytes */
    }
    if (want != have * 2) {
        return false;
    }
    if (wanted == NULL) {
        return true;
    }
    for (size_t i = 0; i < have; i++) {
        char hex[3];
        snprintf(hex, sizeof hex, "%02x", bits[i]);
        if (memcmp(hex, wanted + 2 * i, 2) != 0) {
            return false;
        }
    }
    return true;
}

/* dwfl_report_offline_memory: the header of an older elfutils lacks it. */
typedef Dwfl_Module *report_memory(Dwfl *dwfl, const char *name, const char *file, char *data, size_t bytes);

/* Gives a file of Mach-O to libdwfl, by a function of elfutils 0.188. Ubuntu 22.04 has an older one. */
static Dwfl_Module *report_macho(struct module *m, const char *place) {
    report_memory *report = NULL;
    *(void **)&report = dlsym(RTLD_DEFAULT, "dwfl_report_offline_memory");
    if (report == NULL) {
        m->reason = "libdw is older than 0.188";
        return NULL;
    }
    return report(m->dwfl, place, place, m->macho.elf, m->macho.bytes);
}

/* Gives the file to libdwfl. Closes `fd`, or libdwfl does later. */
static void report_file(struct symbolizer *s, struct module *m, int fd) {
    const char *place = m->place != NULL ? m->place : m->file; /* a link may be exchanged meanwhile */
    if (!macho_file_is(fd)) {
        m->module = dwfl_report_elf(m->dwfl, place, place, fd, 0, false); /* takes fd on success */
    } else {
        m->reason = macho_file_map(&m->macho, fd, m->build_id);
        m->module = m->reason != NULL ? NULL : report_macho(m, place);
        close(fd);
        fd = -1;
    }
    if (m->module == NULL && m->reason == NULL) {
        m->reason = keep_reason(s, "its file cannot be read", dwfl_errmsg(-1));
    }
    if (m->module == NULL && fd >= 0) {
        close(fd);
    }
}

/* False: there is no such file. */
static bool open_which(struct symbolizer *s, struct module *m, unsigned which) {
    void **data;
    m->reason = NULL;
    int fd = open_file(s, m, which);
    if (fd < 0) {
        return false;
    }
    m->dwfl = dwfl_begin(&s->callbacks);
    if (m->dwfl == NULL) {
        m->reason = "out of memory";
        close(fd);
        return true;
    }
    dwfl_report_begin(m->dwfl);
    report_file(s, m, fd);
    if (m->module != NULL) {
        dwfl_module_info(m->module, &data, NULL, NULL, NULL, NULL, NULL, NULL);
        *data = m; /* the callbacks', which what follows may call */
        if (dwfl_report_end(m->dwfl, NULL, NULL) != 0 || dwfl_module_getelf(m->module, &m->bias) == NULL) {
            m->reason = keep_reason(s, "its file cannot be read", dwfl_errmsg(-1));
        } else if (!is_same_build(m->module, m->build_id)) {
            m->reason = m->build_id != NULL ? "its file is another one now: the build-id differs"
                                            : "the report has no build-id to know its file by";
        }
    }
    if (m->reason != NULL) {
        dwfl_end(m->dwfl);
        m->dwfl = NULL;
        macho_file_unmap(&m->macho);
    }
    return true;
}

/* Takes a file of symbols in place of the module's own. False: it is not the very one. */
static bool open_symbols(struct symbolizer *s, struct module *m, const char *path) {
    free(m->file);
    m->file = path != NULL ? strdup(path) : NULL;
    if (m->file != NULL) {
        open_which(s, m, 0);
    }
    return m->file != NULL && m->reason == NULL;
}

/* Programs of Apple's systems have their debug information in a dSYM bundle: in a folder that the user names,
 * or next to the program. */
static bool open_dsym(struct symbolizer *s, struct module *m) {
    const char *path, *base = strrchr(m->path, '/');
    char *next;
    if (m->build_id == NULL || strlen(m->build_id) + 1 != MACHO_UUID_TEXT || s->open != NULL ||
        base == NULL) {
        return false;
    }
    for (unsigned i = 0;
         s->folders != NULL && (path = symbol_folders_find(s->folders, m->build_id, i)) != NULL; i++) {
        if (open_symbols(s, m, path)) {
            return true;
        }
    }
    if (asprintf(&next, "%s.dSYM/Contents/Resources/DWARF%s", m->path, base) < 0) {
        return false;
    }
    bool opened = open_symbols(s, m, next);
    free(next);
    return opened;
}

/* The first file that is the very one; else why the first is not. */
static void open_module(struct symbolizer *s, struct module *m) {
    if (open_dsym(s, m)) {
        return;
    }
    free(m->file);
    m->file = strdup(m->path);
    if (m->file == NULL) {
        m->reason = "out of memory";
        return;
    }
    bool more = open_which(s, m, 0) && s->open != NULL;
    const char *first = m->reason;
    for (unsigned which = 1; more && m->reason != NULL; which++) {
        more = open_which(s, m, which);
    }
    m->reason = m->reason != NULL ? first : NULL;
}

struct module *dw_module(struct symbolizer *s, const char *path, const char *build_id) {
    for (struct module *m = s->modules; m != NULL; m = m->next) {
        if (m->owner == s->owner && strcmp(m->path, path) == 0 &&
            (build_id == NULL || m->build_id == NULL ? build_id == m->build_id
                                                     : strcmp(m->build_id, build_id) == 0)) {
            return m;
        }
    }
    struct module *m = calloc(1, sizeof *m);
    if (m == NULL) {
        return NULL;
    }
    m->owner = s->owner;
    m->symbolizer = s;
    m->path = strdup(path);
    m->build_id = build_id == NULL ? NULL : strdup(build_id);
    if (m->path == NULL || (build_id != NULL && m->build_id == NULL)) {
        free(m->path);
        free(m->build_id);
        free(m);
        return NULL;
    }
    open_module(s, m);
    m->next = s->modules;
    s->modules = m;
    return m;
}

void dw_modules_free(struct symbolizer *s) {
    while (s->modules != NULL) {
        struct module *m = s->modules;
        s->modules = m->next;
        if (m->dwfl != NULL) {
            dwfl_end(m->dwfl);
        }
        macho_file_unmap(&m->macho);
        answers_free(&m->answers);
        free(m->range);
        free(m->path);
        free(m->file);
        free(m->place);
        free(m->build_id);
        free(m);
    }
}
