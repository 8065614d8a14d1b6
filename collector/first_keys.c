/* SPDX-License-Identifier: MIT */
#include "collector/first_keys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/http/http.h"
#include "collector/upkeep/retention.h"

static const enum key_use uses[] = {KEY_SEND, KEY_READ, KEY_ADMIN};
#define COUNT (sizeof uses / sizeof uses[0])

struct made {
    int64_t id[COUNT];
    char text[COUNT][KEY_TEXT_BYTES];
};

static void remove_keys(struct store *store, const struct made *made) {
    for (size_t i = 0; i < COUNT && made->id[i] > 0; i++) {
        store_remove_key(store, made->id[i]);
    }
}

static bool make_keys(struct store *store, struct made *made) {
    for (size_t i = 0; i < COUNT; i++) {
        made->id[i] = keys_make(store, uses[i], "", made->text[i]);
        if (made->id[i] <= 0) {
            remove_keys(store, made);
            return false;
        }
    }
    return true;
}

static void write_keys(FILE *out, const struct made *made, const struct first_keys_place *at) {
    fprintf(out, "the page, with its key:   %s/#key=%s\n", at->address, made->text[1]);
    fprintf(out, "to send reports:          HANGDOG_KEY=%s hangdog upload --to %s\n", made->text[0],
            at->address);
    fprintf(out, "to administer:            %s/#key=%s\n", at->address, made->text[2]);
}

/* Replaces an existing file: it has keys of an earlier store, which are invalid here. */
static FILE *open_file(const char *path, struct problem *why) {
    int fd = -1;
    if (unlink(path) == 0 || errno == ENOENT) {
        fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    }
    FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (file == NULL) {
        error_set(why, "cannot write the first keys into %s: %s", path, strerror(errno));
        if (fd >= 0) {
            close(fd);
        }
    }
    return file;
}

static bool is_written(FILE *file) {
    bool well = fflush(file) == 0 && fsync(fileno(file)) == 0;
    return fclose(file) == 0 && well;
}

static bool write_file(struct store *store, const struct first_keys_place *at, struct made *made,
                       struct problem *why) {
    FILE *file = open_file(at->file, why);
    if (file == NULL) {
        return false;
    }
    bool has_keys = make_keys(store, made);
    if (has_keys) {
        write_keys(file, made, at);
    }
    if (is_written(file) && has_keys) {
        printf("the first keys, to send, to read and to administer, are in %s, for its owner only\n",
               at->file);
        return true;
    }
    if (has_keys) {
        error_set(why, "cannot write the first keys into %s: %s", at->file, strerror(errno));
        remove_keys(store, made);
    } else {
        error_set(why, "cannot make the first keys: the store cannot be written");
    }
    unlink(at->file);
    return false;
}

bool first_keys_make(struct store *store, const struct first_keys_place *at, struct problem *why) {
    struct store_key any;
    struct made made = {.id = {0}};
    int count = store_keys(store, &any, 1);
    if (count < 0) {
        error_set(why, "cannot read the keys of the store");
    }
    if (count != 0) {
        return count > 0;
    }
    if (!retention_start(store)) {
        error_set(why, "cannot make the first keys: the store cannot be written");
        return false;
    }
    if (isatty(STDOUT_FILENO) != 1) {
        if (!write_file(store, at, &made, why)) {
            return false;
        }
    } else if (make_keys(store, &made)) {
        write_keys(stdout, &made, at);
    } else {
        error_set(why, "cannot make the first keys: the store cannot be written");
        return false;
    }
    printf(
        "The keys are %s this once; the store has their hashes. One more: hangdog serve%s --new-key read\n",
        isatty(STDOUT_FILENO) == 1 ? "printed" : "written", at->options);
    fflush(stdout);
    return true;
}
