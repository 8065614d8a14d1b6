/* SPDX-License-Identifier: MIT */
#include "symbolizer/symbol_folders.h"

#include "symbolizer/macho_file.h"
#include "symbolizer/regular_file.h"

#include <fts.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILES_MAX 65536 /* further ones are not looked at */
#define FOUND_MAX 4096  /* programs that are remembered */
#define LEVELS_MAX 12   /* of folders below a given one */
#define FOLDERS_MAX 64  /* given ones */

struct found {
    char uuid[MACHO_UUID_TEXT];
    char *path;
    bool is_dsym;
};

struct symbol_folders {
    char *folders;
    bool searched;
    struct found *found;
    size_t count;
};

struct symbol_folders *symbol_folders_open(const char *folders) {
    struct symbol_folders *f = calloc(1, sizeof *f);
    if (f != NULL) {
        f->folders = strdup(folders);
    }
    if (f != NULL && f->folders == NULL) {
        free(f);
        return NULL;
    }
    return f;
}

void symbol_folders_close(struct symbol_folders *f) {
    if (f == NULL) {
        return;
    }
    for (size_t i = 0; i < f->count; i++) {
        free(f->found[i].path);
    }
    free(f->found);
    free(f->folders);
    free(f);
}

static void add(struct symbol_folders *f, const char *path, const char *uuid) {
    if (f->count == FOUND_MAX) {
        return;
    }
    struct found *more = realloc(f->found, (f->count + 1) * sizeof *more);
    if (more == NULL) {
        return;
    }
    f->found = more;
    struct found *to = &f->found[f->count];
    *to = (struct found){.path = strdup(path), .is_dsym = strstr(path, ".dSYM/") != NULL};
    memcpy(to->uuid, uuid, sizeof to->uuid);
    f->count += to->path != NULL;
}

static void look_at(struct symbol_folders *f, const char *path) {
    struct macho_program programs[MACHO_SLICES_MAX];
    struct stat st;
    int fd = regular_file_open(path, &st);
    unsigned n = fd >= 0 ? macho_file_programs(fd, programs) : 0;
    for (unsigned i = 0; i < n; i++) {
        if (programs[i].uuid[0] != '\0' && programs[i].has_names) {
            add(f, path, programs[i].uuid);
        }
    }
    if (fd >= 0) {
        close(fd);
    }
}

/* Links are not followed: they may lead in a circle. */
static void search(struct symbol_folders *f) {
    char *names[FOLDERS_MAX + 1], *rest = f->folders, *one;
    size_t n = 0, files = 0;
    while (n < FOLDERS_MAX && (one = strsep(&rest, ":")) != NULL) {
        if (one[0] != '\0') {
            names[n++] = one;
        }
    }
    names[n] = NULL;
    f->searched = true;
    FTS *tree = n != 0 ? fts_open(names, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, NULL) : NULL;
    FTSENT *entry;
    while (tree != NULL && files < FILES_MAX && (entry = fts_read(tree)) != NULL) {
        if (entry->fts_info == FTS_D && entry->fts_level >= LEVELS_MAX) {
            fts_set(tree, entry, FTS_SKIP);
        } else if (entry->fts_info == FTS_F) {
            files++;
            look_at(f, entry->fts_path);
        }
    }
    if (tree != NULL) {
        fts_close(tree);
    }
}

const char *symbol_folders_find(struct symbol_folders *f, const char *uuid, unsigned which) {
    if (!f->searched) {
        search(f);
    }
    for (int dsym = 1; dsym >= 0; dsym--) {
        for (size_t i = 0; i < f->count; i++) {
            if (f->found[i].is_dsym == (dsym == 1) && strcmp(f->found[i].uuid, uuid) == 0 && which-- == 0) {
                return f->found[i].path;
            }
        }
    }
    return NULL;
}
