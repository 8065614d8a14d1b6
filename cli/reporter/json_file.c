/* SPDX-License-Identifier: MIT */
#include "cli/reporter/json_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/message.h"
#include "cli/base/output.h"
#include "cli/base/sanitize.h"
#include "cli/base/shell_quote.h"

#define MODE 0666 /* the user's umask decides */
#define WORD_BYTES 1024

bool json_file_open(const char *path, int *fd, struct problem *why) {
    *fd = -1;
    if (path == NULL || path[0] == '\0') {
        return true;
    }
    *fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC | O_NOCTTY, MODE);
    if (*fd < 0) {
        error_set(why, "cannot open '%.500s': %s", path, strerror(errno));
    }
    return *fd >= 0;
}

void json_file_suggest(struct problem *why, const char *json, const char *verb, const char *word) {
    char quoted[WORD_BYTES];
    if (json != NULL && json[0] == '\0') {
        quote_word(quoted, sizeof quoted, word);
        error_try(why, "%.500s %s --json=%s ...", shell_own_command(), verb, quoted);
    }
}

static int write_line(int fd, const json_t *report) {
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    if (out == NULL) {
        return ENOMEM;
    }
    sanitize_print_json(out, report, JSON_COMPACT);
    bool whole = fflush(out) == 0 && ferror(out) == 0;
    whole &= fclose(out) == 0;
    int error = whole ? output_write_to(fd, text, bytes) : ENOMEM;
    free(text);
    return error;
}

void json_file_add(struct printer *r, const json_t *report) {
    if (r->options->json_fd >= 0 && r->json_error == 0) {
        r->json_error = write_line(r->options->json_fd, report);
    }
    r->unwritten += r->json_error != 0;
}

void json_file_print_missing(const struct printer *r) {
    if (r->unwritten > 0) {
        print_error("%u report%s missing: cannot write '%.500s': %s", r->unwritten,
                    cli_plural(r->unwritten, " is", "s are"), r->options->json_file, strerror(r->json_error));
    }
}
