/* SPDX-License-Identifier: MIT */
#include "uploader/symbols.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <gelf.h>
#include <inttypes.h>
#include <jansson.h>
#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/base/error.h"
#include "cli/base/options.h"
#include "cli/commands.h"
#include "cli/fleet/fleet.h"
#include "symbolizer/macho_file.h"
#include "uploader/given.h"
#include "uploader/send.h"

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

/* Reads the build-id. Returns what the file lacks; NULL: nothing. */
static const char *read_elf(struct debug_file *f) {
    elf_version(EV_CURRENT);
    Elf *elf = elf_begin(f->fd, ELF_C_READ, NULL);
    const void *id = NULL;
    ssize_t bytes = elf != NULL && elf_kind(elf) == ELF_K_ELF ? dwelf_elf_gnu_build_id(elf, &id) : -1;
    const char *lacks = bytes < 0 ? "it is no ELF and no Mach-O file"
                        : bytes == 0 || 2 * (size_t)bytes >= sizeof f->build_id ? "it has no build-id"
                        : !has_names(elf) ? "it has no symbols and no debug information"
                                          : NULL;
    for (ssize_t i = 0; lacks == NULL && i < bytes; i++) {
        snprintf(f->build_id + 2 * i, 3, "%02x", ((const unsigned char *)id)[i]);
    }
    elf_end(elf);
    return lacks;
}

/* The same, of program `number` of a Mach-O file. */
static const char *read_macho(struct debug_file *f, unsigned number, bool *more) {
    struct macho_program programs[MACHO_SLICES_MAX];
    unsigned n = macho_file_programs(f->fd, programs);
    *more = number + 1 < n;
    if (number >= n) {
        return "its load commands are broken";
    }
    const struct macho_program *one = &programs[number];
    snprintf(f->build_id, sizeof f->build_id, "%s", one->uuid);
    f->offset = (int64_t)one->offset;
    f->bytes = (int64_t)one->bytes;
    return one->uuid[0] == '\0' ? "it has no UUID"
           : !one->has_names    ? "it has no symbols and no debug information"
                                : NULL;
}

bool symbols_open_file(const char *path, unsigned number, struct debug_file *out, bool *more,
                       struct problem *why) {
    struct stat st;
    *more = false;
    *out = (struct debug_file){.fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)};
    if (out->fd < 0 || fstat(out->fd, &st) != 0) {
        error_set(why, "cannot send %s: %s", path, strerror(errno));
    } else if (!S_ISREG(st.st_mode)) {
        error_set(why, "cannot send %s: it is no regular file", path);
    } else {
        out->bytes = st.st_size;
        const char *lacks = macho_file_is(out->fd) ? read_macho(out, number, more) : read_elf(out);
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

#define PIECE_BYTES ((size_t)4 << 20)
#define RETRIES 5
#define PERCENT 100

/* The part of a file that the collector has. */
struct at_collector {
    int64_t bytes;
    bool whole;
    char set_aside[128]; /* why the file before is not used; empty: there was none */
};

static bool read_state(const char *answer, struct at_collector *out) {
    json_t *json = json_loads(answer, 0, NULL);
    const json_t *bytes = json_object_get(json, "bytes"), *whole = json_object_get(json, "complete");
    const char *set_aside = json_string_value(json_object_get(json, "set_aside"));
    snprintf(out->set_aside, sizeof out->set_aside, "%s", set_aside != NULL ? set_aside : "");
    bool well = json_is_integer(bytes) && json_is_boolean(whole);
    out->bytes = json_integer_value(bytes);
    out->whole = json_is_true(whole);
    json_decref(json);
    return well;
}

/* Sends one piece, and fills `there` from the answer. */
static bool send_piece(struct sender *s, const struct symbols_options *o, const struct debug_file *f,
                       const char *piece, size_t bytes, struct at_collector *there, struct problem *why) {
    char address[2048];
    snprintf(address, sizeof address, "%s/api/v1/symbols/%s?offset=%" PRId64 "&size=%" PRId64, o->to,
             f->build_id, there->bytes, f->bytes);
    send_set_address(s, address);
    struct send_result r = send_batch(s, piece, bytes, o->retries);
    if ((r.status == 200 || r.status == 409) && read_state(r.answer, there)) {
        return true;
    }
    json_t *json = json_loads(r.answer, 0, NULL);
    const char *said = json_string_value(json_object_get(json, "error"));
    if (r.status == 0) {
        error_set(why, "cannot send to %s: %s", o->to, r.error);
    } else {
        error_set(why, "%s answers %ld: %.200s", o->to, r.status, said != NULL ? said : "no reason");
    }
    json_decref(json);
    return false;
}

static void show_progress(const char *path, const struct debug_file *f, int64_t sent) {
    if (!options_quiet() && isatty(STDERR_FILENO) == 1) {
        fprintf(stderr, "\r\033[Khangdog: %s: %" PRId64 " %%%s", path,
                f->bytes > 0 ? sent * PERCENT / f->bytes : PERCENT, sent == f->bytes ? "\r\033[K" : "");
    }
}

/* The first piece is empty: the answer says at which offset to continue. An answer without progress ends the
 * loop. */
static bool send_file(struct sender *s, const struct symbols_options *o, const char *path,
                      const struct debug_file *f, struct problem *why) {
    char *piece = malloc(PIECE_BYTES);
    struct at_collector there = {0};
    bool well = piece != NULL && send_piece(s, o, f, "", 0, &there, why);
    if (piece == NULL) {
        error_set(why, "cannot send %s: out of memory", path);
    }
    if (well && there.set_aside[0] != '\0') {
        print_error("%s: the collector could not use the file of this build-id that it has: %s", path,
                    there.set_aside);
    }
    while (well && !there.whole) {
        int64_t before = there.bytes;
        int64_t rest = f->bytes - before;
        size_t want = rest < (int64_t)PIECE_BYTES ? (size_t)(rest > 0 ? rest : 0) : PIECE_BYTES;
        ssize_t n = pread(f->fd, piece, want, f->offset + before);
        if (n <= 0) {
            error_set(why, "cannot read %s: %s", path, n < 0 ? strerror(errno) : "it became shorter");
            well = false;
            break;
        }
        show_progress(path, f, before);
        well = send_piece(s, o, f, piece, (size_t)n, &there, why);
        if (well && !there.whole && there.bytes <= before) {
            error_set(why, "cannot send %s: another sender sends the same file", path);
            well = false;
        }
    }
    show_progress(path, f, f->bytes);
    free(piece);
    return well;
}

static bool send_program(struct sender *s, const struct symbols_options *o, const char *path, unsigned number,
                         bool *more) {
    struct debug_file f;
    struct problem why;
    bool sent = symbols_open_file(path, number, &f, more, &why);
    if (sent) {
        sent = send_file(s, o, path, &f, &why);
        close(f.fd);
    }
    if (!sent) {
        error_print(&why);
    } else if (!options_quiet()) {
        fprintf(stderr, "hangdog: %s: the collector has it, as %s\n", path, f.build_id);
    }
    return sent;
}

static bool send_programs(struct sender *s, const struct symbols_options *o, const char *path) {
    bool all = true, more = true;
    for (unsigned i = 0; more; i++) {
        all = send_program(s, o, path, i, &more) && all;
    }
    return all;
}

/* A folder is a dSYM bundle, or has some: the Mach-O files below it are sent. */
static bool send_folder(struct sender *s, const struct symbols_options *o, const char *path) {
    char *names[] = {(char *)(uintptr_t)path, NULL};
    FTS *tree = fts_open(names, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, NULL);
    FTSENT *entry;
    bool all = true;
    size_t found = 0;
    while (tree != NULL && (entry = fts_read(tree)) != NULL) {
        int fd = entry->fts_info == FTS_F
                     ? open(entry->fts_path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)
                     : -1;
        if (fd < 0) {
            continue;
        }
        bool is_macho = macho_file_is(fd);
        close(fd);
        if (is_macho) {
            found++;
            all = send_programs(s, o, entry->fts_path) && all;
        }
    }
    if (tree != NULL) {
        fts_close(tree);
    }
    if (found == 0) {
        print_error("cannot send %s: no Mach-O file is in this folder", path);
    }
    return found != 0 && all;
}

static bool send_path(struct sender *s, const struct symbols_options *o, const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode) ? send_folder(s, o, path) : send_programs(s, o, path);
}

int symbols_main(int argc, char **argv, const volatile sig_atomic_t *stop) {
    struct symbols_options o = {.retries = RETRIES};
    struct problem why;
    int status, first = options_parse(&command_upload_symbols, &o, argc, argv, &status);
    if (first < 0) {
        return status;
    }
    o.to = given(o.to, "HANGDOG_COLLECTOR");
    o.key = given(o.key, "HANGDOG_KEY");
    if (o.to == NULL || o.key == NULL) {
        return options_wrong_use(&command_upload_symbols, o.to == NULL
                                                              ? "which collector? --to URL"
                                                              : "which key? --key KEY, or HANGDOG_KEY");
    }
    struct sender *s = send_open_symbols(o.to, o.key, o.ca, stop, &why);
    if (s == NULL) {
        return error_print(&why);
    }
    bool all = true;
    for (int i = first; i < argc; i++) {
        all = send_path(s, &o, argv[i]) && all;
    }
    send_close(s);
    return all ? EXIT_SUCCESS : EXIT_ERROR;
}
