/* SPDX-License-Identifier: MIT */
#include "uploader/symbols.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/error.h"
#include "cli/base/options.h"
#include "cli/commands.h"
#include "cli/fleet/fleet.h"
#include "uploader/debug_file.h"
#include "uploader/given.h"
#include "uploader/send.h"

#define PIECE_BYTES ((size_t)4 << 20)
#define RETRIES 5
#define PERCENT 100

/* What the collector has of a file. */
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

/* Sends what is at `offset`; fills what the collector has then. */
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

/* The first piece is empty: its answer says where to go on. An answer that brings the file no further ends
 * it. */
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
        ssize_t n = pread(f->fd, piece, PIECE_BYTES, before);
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

static bool send_path(struct sender *s, const struct symbols_options *o, const char *path) {
    struct debug_file f;
    struct problem why;
    bool sent = debug_file_open(path, &f, &why);
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
