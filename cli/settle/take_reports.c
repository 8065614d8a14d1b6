/* SPDX-License-Identifier: MIT */
#include "cli/settle/take_reports.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/base/deep_stack.h"
#include "cli/base/error.h"
#include "cli/base/spool_folder.h"
#include "cli/reader/report_file.h"
#include "cli/reader/report_load.h"
#include "cli/reader/report_words.h"
#include "os/os.h"
#include "record/uuid.h"
#include "report/spool.h"

/* The pause after each report that the reporter's thread takes. It limits the CPU time that a hostile
 * program can cost by many reports. */
#define PAUSE_NS (10 * HD_NS_PER_MS)
#define LAST_WAIT_NS (2 * HD_NS_PER_S)
#define STACK_BYTES (2u * 1024 * 1024)

static const char *session_of(const json_t *report) {
    return report_text(json_object_get(report, "app"), "session");
}

static bool is_of_this_run(const struct take_reports *t, const char *session) {
    char text[37];
    hd_uuid_text(t->decided->session, text);
    bool is = strcmp(text, session) == 0;
    /* A child of the program has a session and a record of its own. So a child's report has the session of
     * one of the other records. */
    for (unsigned i = 1; !is && i < HD_RECORDS; i++) {
        uint8_t id[HD_UUID_BYTES];
        memcpy(id, t->records[i].options.session, sizeof id);
        hd_uuid_text(id, text);
        is = atomic_load(&t->records[i].owner.pid) != 0 && strcmp(text, session) == 0;
    }
    return is;
}

/* True: `id` is a UUID of version 7. The id becomes a file's name, so another text could name a file
 * outside the spool. */
static bool is_id(const char *id) {
    static const char form[] = "xxxxxxxx-xxxx-7xxx-xxxx-xxxxxxxxxxxx";
    for (size_t i = 0; i < sizeof form; i++) {
        bool digit = id[i] != '\0' && strchr("0123456789abcdef", id[i]) != NULL;
        if (form[i] == 'x' ? !digit : id[i] != form[i]) {
            return false;
        }
    }
    return true;
}

/* True for a new report within TAKE_REPORTS_MAX, and for an update of a report of the same session. */
static bool may_be_written(struct take_reports *t, const char *path, const json_t *report) {
    if (access(path, F_OK) != 0) {
        return atomic_fetch_add(&t->counts->taken, 1) < TAKE_REPORTS_MAX;
    }
    struct problem why;
    json_t *there = report_load(path, &why);
    bool same = there != NULL && strcmp(session_of(there), session_of(report)) == 0;
    json_decref(there);
    return same;
}

static void write_report(struct take_reports *t, const char *text, size_t bytes) {
    char path[sizeof t->decided->spool + 48];
    json_t *report = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, NULL);
    const char *id = report_text(report, "id");
    if (strcmp(report_text(report, "format"), "hangdog-report/1") == 0 && is_id(id) &&
        report_words_kind_is(report_text(report, "kind"), HD_OF_TURN) &&
        is_of_this_run(t, session_of(report))) {
        snprintf(path, sizeof path, "%s/%s.json", spool_folder(t->decided->spool), id);
        if (may_be_written(t, path, report)) {
            int rc = report_file_replace(path, report, NULL);
            int none = 0;
            atomic_fetch_add(&t->counts->failed,
                             rc != 0 && json_is_true(json_object_get(report, "complete")));
            atomic_compare_exchange_strong(&t->counts->error, &none, -rc);
        }
    }
    json_decref(report);
}

/* Takes the report from the outbox. Copies the report's text before checking it, because the program may
 * change the outbox at any time. */
static void take_one(struct take_reports *t) {
    size_t bytes = atomic_load(&t->outbox->bytes);
    char *copy = bytes <= HD_OUTBOX_TEXT_BYTES ? malloc(bytes + 1) : NULL;
    if (copy != NULL) {
        memcpy(copy, t->outbox->text, bytes);
        write_report(t, copy, bytes);
    }
    free(copy);
    atomic_store(&t->outbox->state, HD_OUTBOX_EMPTY);
    hd_os.futex_wake((uint32_t *)&t->outbox->state, 1, true);
}

static void take_all(void *taker) {
    struct take_reports *t = taker;
    for (;;) {
        uint32_t state = atomic_load(&t->outbox->state);
        if (state == HD_OUTBOX_FULL) {
            take_one(t);
            nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
        } else {
            hd_os.futex_wait((uint32_t *)&t->outbox->state, state, UINT64_MAX, true);
        }
    }
}

void take_reports_init(struct take_reports *t, struct hd_record *records,
                       const struct hd_record_options *decided, struct take_counts *counts) {
    *t = (struct take_reports){records, hd_record_outbox(records), decided, counts};
}

void take_reports_start(struct take_reports *t) {
    pthread_t thread;
    if (deep_stack_start(&thread, STACK_BYTES, take_all, t)) {
        pthread_detach(thread);
    }
}

void take_reports_end(struct take_reports *t) {
    uint64_t until_ns = hd_os_now_ns() + LAST_WAIT_NS;
    while (atomic_load(&t->outbox->state) == HD_OUTBOX_FULL && hd_os_now_ns() < until_ns) {
        hd_os.futex_wait((uint32_t *)&t->outbox->state, HD_OUTBOX_FULL, until_ns, true);
    }
    if (atomic_load(&t->outbox->state) == HD_OUTBOX_FULL) {
        take_one(t);
    }
    /* Marks the outbox as in use, so that a surviving child does not fill it at once. After its patience of 1
     * s the child fills the outbox all the same, and that report is lost (report/outbox_writer.c). */
    uint32_t empty = HD_OUTBOX_EMPTY;
    atomic_compare_exchange_strong(&t->outbox->state, &empty, HD_OUTBOX_FILLING);
}

void take_reports_count(const struct take_counts *counts, struct hd_record *record) {
    int32_t none = 0;
    if (atomic_load(&counts->failed) != 0) {
        atomic_fetch_add(&record->losses.spool_failures, atomic_load(&counts->failed));
        atomic_compare_exchange_strong(&record->losses.spool_error, &none, atomic_load(&counts->error));
    }
}
