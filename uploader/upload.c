/* SPDX-License-Identifier: MIT */
#include "uploader/upload.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/agent_places.h"
#include "cli/base/json_text.h"
#include "cli/base/libexec.h"
#include "cli/base/options.h"
#include "cli/reader/report_find.h"
#include "cli/reader/report_load.h"
#include "cli/reader/symbolicate.h"
#include "uploader/batch.h"

static bool say_failed(const struct send_result *result) {
    json_t *answer = json_loads(result->answer, 0, NULL);
    const char *why = json_string_value(json_object_get(answer, "error"));
    struct problem p;
    if (result->status == 0) {
        error_set(&p, "cannot send: %s", result->error);
    } else if (result->status == 401) {
        error_set(&p, "cannot send: the collector does not know this key");
        error_try(&p, "hangdog serve --new-key send");
    } else {
        error_set(&p, "cannot send: the collector answers %ld%s%.300s", result->status,
                  why != NULL ? ", " : "", why != NULL ? why : "");
    }
    error_print(&p);
    json_decref(answer);
    return false;
}

/* Seconds for which the collector would refuse the same report again. */
static int64_t refused_for_s(const json_t *refused) {
    json_int_t s = json_integer_value(json_object_get(refused, "retry_after"));
    return s > 0 && s < PASSED_OVER_DAY_S ? s : PASSED_OVER_DAY_S;
}

static void pass_over(struct upload *u, const char *path, const char *at, const char *reason,
                      int64_t seconds) {
    char why[600];
    snprintf(why, sizeof why, "%.200s%s%.200s", at, at[0] != '\0' ? " " : "", reason);
    u->refused++;
    if (passed_over_add(&u->passed_over, path, why, seconds)) {
        print_error("the collector refuses %s: %s", path, why);
    }
}

/* Removes what the collector has, and says what it refused. */
static void settle(struct upload *u, const struct batch *b, size_t first, size_t count,
                   const json_t *answer) {
    bool *refused = calloc(count + 1, sizeof *refused);
    size_t i;
    const json_t *item;
    if (refused == NULL) {
        return; /* the next look sends them again, and the collector stores each once */
    }
    json_array_foreach(json_object_get(answer, "refused"), i, item) {
        json_int_t index = json_integer_value(json_object_get(item, "index"));
        if (index >= 0 && (size_t)index < count && !refused[index]) {
            refused[index] = true;
            pass_over(u, b->item[first + (size_t)index].path, json_text(item, "at"),
                      json_text(item, "reason"), refused_for_s(item));
        }
    }
    for (i = 0; i < count; i++) {
        if (!refused[i] && !u->options->keep) {
            batch_remove_file(&b->item[first + i]);
        }
    }
    free(refused);
    u->sent += (size_t)json_integer_value(json_object_get(answer, "accepted"));
    u->known += (size_t)json_integer_value(json_object_get(answer, "repeated"));
}

/* An answer is one only where it accounts for each report: else nothing is removed. */
static bool is_whole(const json_t *answer, size_t count) {
    json_int_t accepted = json_integer_value(json_object_get(answer, "accepted"));
    json_int_t repeated = json_integer_value(json_object_get(answer, "repeated"));
    size_t refused = json_array_size(json_object_get(answer, "refused"));
    return accepted >= 0 && repeated >= 0 && (size_t)accepted + (size_t)repeated + refused == count;
}

static bool send_items(struct upload *u, const struct batch *b, size_t first, size_t count) {
    size_t start = b->item[first].start, bytes = 0;
    for (size_t i = 0; i < count; i++) {
        bytes += b->item[first + i].size;
    }
    struct send_result result = send_batch(u->sender, b->lines + start, bytes, u->options->retries);
    if (result.status == SEND_OVER_BUDGET && count == 1) {
        u->over_budget = true;
        return false;
    }
    if (result.status == 413 && count == 1) { /* the others shall not wait for it */
        pass_over(u, b->item[first].path, "", "it is too large (status 413)", PASSED_OVER_HOUR_S);
        return true;
    }
    /* a proxy may have a smaller limit, and half of them may fit into the day */
    if ((result.status == 413 || result.status == SEND_OVER_BUDGET) && count > 1) {
        return send_items(u, b, first, count / 2) && send_items(u, b, first + count / 2, count - count / 2);
    }
    json_t *answer = json_loads(result.answer, 0, NULL);
    bool whole = (result.status == 200 || result.status == 400) && is_whole(answer, count);
    if (whole) {
        settle(u, b, first, count, answer);
    } else if (*u->stop == 0) {
        say_failed(&result);
    }
    json_decref(answer);
    return whole;
}

/* Of a hang that lasts. It is written again when it has ended, or by the next start once its process is dead.
 */
static bool lasts(const json_t *report) {
    return json_is_false(json_object_get(report, "complete")) &&
           strcmp(json_string_value(json_object_get(report, "kind")), "fatal-hang") != 0;
}

/* Once it is sent, nothing on this machine adds its names. */
static void wait_for_names(struct upload *u, const char *path) {
    if (u->unnamed++ == 0 && !u->said_unnamed) {
        print_error("%s and others wait: no process can be started now that looks up their names", path);
    }
    u->said_unnamed = true;
}

/* The agent's spool is the agent's: root sends its reports, and only root can remove them. */
static bool is_for_root(const char *path) {
    return geteuid() != 0 && strncmp(path, AGENT_SPOOL "/", sizeof AGENT_SPOOL) == 0;
}

/* Adds one file's report, if it is one that can go now. False: no memory. */
static bool add_file(struct upload *u, struct batch *b, const char *path, struct symbolizer *symbolizer) {
    struct problem why;
    struct stat file;
    if (is_for_root(path) || passed_over_is(&u->passed_over, path) || lstat(path, &file) != 0) {
        return true;
    }
    json_t *report = report_load(path, &why);
    if (report == NULL) {
        if (!report_is_gone(path)) {
            u->unread++;
            if (passed_over_add(&u->passed_over, path, why.text, PASSED_OVER_DAY_S)) {
                error_print(&why);
            }
        }
        return true;
    }
    bool fits = true;
    if (lasts(report)) {
        u->lasting++;
    } else {
        if (symbolizer != NULL) {
            report_symbolicate(report, symbolizer, report_owner(path), REPORT_ALL, NULL);
        }
        if (symbolizer != NULL && symbolizer_is_starved(symbolizer)) {
            wait_for_names(u, path);
        } else {
            fits = batch_add(b, report, path, &file);
        }
    }
    json_decref(report);
    return fits;
}

/* Of a backlog: more than one batch. */
static void show_progress(const struct upload *u, size_t done, size_t count) {
    if (count > BATCH_REPORTS && !options_quiet() && isatty(STDERR_FILENO) == 1) {
        fprintf(stderr, "\r\033[K");
        if (done < count) {
            fprintf(stderr, "hangdog: %zu of %zu reports, %zu sent", done, count, u->sent);
        }
    }
}

static bool send_files(struct upload *u, const struct report_files *files, struct symbolizer *symbolizer) {
    struct batch *b = calloc(1, sizeof *b);
    bool well = b != NULL;
    for (size_t i = 0; well && i < files->count && *u->stop == 0; i++) {
        well = add_file(u, b, files->file[i].path, symbolizer);
        if (!well) {
            print_error("cannot send: out of memory");
        } else if (batch_is_full(b) || (i + 1 == files->count && b->count > 0)) {
            well = send_items(u, b, 0, b->count);
            show_progress(u, i + 1, files->count);
            batch_clear(b);
        }
    }
    if (b != NULL) {
        batch_clear(b);
    }
    free(b);
    return well;
}

bool upload_spool(struct upload *u) {
    struct report_files files;
    struct problem why;
    if (reports_find(u->options->spool, &files, &why) != 0) {
        reports_free(&files);
        error_print(&why);
        return false;
    }
    struct symbolizer *symbolizer = NULL;
    if (!u->options->no_symbols && files.count > 0) {
        symbolizer =
            symbolizer_create(&(struct symbolizer_options){.debuginfod = true, .worker = libexec_look_up()});
    }
    u->unnamed = 0;
    bool well = send_files(u, &files, symbolizer);
    u->said_unnamed = u->unnamed > 0;
    symbolizer_destroy(symbolizer);
    reports_free(&files);
    return well;
}

void upload_end(struct upload *u) {
    send_close(u->sender);
    passed_over_free(&u->passed_over);
}
