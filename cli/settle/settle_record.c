/* SPDX-License-Identifier: MIT */
#include "cli/settle/settle_record.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/base/error.h"
#include "cli/base/old_libc.h"
#include "cli/base/spool_folder.h"
#include "cli/reader/report_file.h"
#include "cli/reader/report_load.h"
#include "cli/settle/batch_job.h"
#include "cli/settle/liveness.h"
#include "os/os.h"
#include "record/uuid.h"
#include "report/session.h"
#include "report/spool_files.h"

/* If `rc` is an error, counts a failed write of a report, for the summary that the runner prints at the
 * end. Stores only the first error, since it usually causes the others. Returns `rc`. */
static int count_failure(struct hd_record *c, int rc) {
    int32_t none = 0;
    if (rc != 0) {
        atomic_fetch_add(&c->losses.spool_failures, 1);
        atomic_compare_exchange_strong(&c->losses.spool_error, &none, -rc);
    }
    return rc;
}

static bool is_of_session(const char *path, const char *session) {
    struct problem why;
    json_t *report = report_load(path, &why);
    const char *of = json_string_value(json_object_get(json_object_get(report, "app"), "session"));
    bool same = of != NULL && strcmp(of, session) == 0;
    json_decref(report);
    return same;
}

static void path_of(const struct hd_record *c, const uint8_t id[HD_UUID_BYTES], enum hd_spool_file what,
                    char path[4096]) {
    char name[HD_SPOOL_NAME_BYTES];
    hd_spool_name(name, id, what);
    snprintf(path, 4096, "%s/%s", spool_folder(c->options.spool), name);
}

/* Makes the path of the report of the hang that was open when the program ended. */
static void path_of_open(const struct hd_record *c, enum hd_spool_file what, char path[4096]) {
    path_of(c, c->open.hang_id, what, path);
}

/* True: a report of another run has this id. The program can store any id in its record, but must not change
 * another run's report. */
static bool is_of_another_run(const struct hd_record *c, const uint8_t id[HD_UUID_BYTES]) {
    char path[4096], session[37];
    path_of(c, id, HD_SPOOL_REPORT, path);
    hd_uuid_text(c->options.session, session);
    return access(path, F_OK) == 0 && !is_of_session(path, session);
}

/* Returns the hang's duration in the report. A negative number, which the program can store, counts as
 * 0. */
static uint64_t duration_of(const json_t *report) {
    json_int_t ns = json_integer_value(json_object_get(report, "duration_ns"));
    return ns > 0 ? (uint64_t)ns : 0;
}

/* Subtracts a dropped hang from the record's sums of hangs, if the process had already added the hang. */
static void uncount(struct hd_record *c, const json_t *report) {
    uint64_t duration_ns = duration_of(report);
    if (json_is_true(json_object_get(report, "complete")) && atomic_load(&c->hangs.count) > 0) {
        atomic_fetch_sub(&c->hangs.count, 1);
        uint64_t all_ns = atomic_load(&c->hangs.total_ns);
        atomic_store(&c->hangs.total_ns, all_ns > duration_ns ? all_ns - duration_ns : 0);
        atomic_fetch_add(&c->losses.withdrawn, 1);
    }
}

/* Removes the deferred report at `path`. If its hang is the longest of the dropped hangs so far, stores
 * the report in `dropped` for the summary. False: the file does not exist or cannot be removed. */
static bool drop(struct hd_record *c, const char *path, struct settle_dropped *dropped) {
    struct problem why;
    json_t *report = report_load(path, &why);
    if (unlink(path) != 0) {
        json_decref(report);
        return false;
    }
    uncount(c, report);
    uint64_t lasted_ns = duration_of(report);
    if (report != NULL && dropped != NULL && (dropped->count++ == 0 || lasted_ns > dropped->longest_ns)) {
        size_t bytes = json_dumpb(report, dropped->text, sizeof dropped->text, JSON_COMPACT);
        dropped->bytes = bytes <= sizeof dropped->text ? bytes : 0;
        dropped->longest_ns = lasted_ns;
    }
    json_decref(report);
    return true;
}

/* Drops the open hang if its thread had no loop yet, or if the loop was less than likely
 * (HD_RECORD_LOOP_LIKELY). */
static void drop_open_hang(struct hd_record *c, struct settle_dropped *dropped) {
    char path[4096];
    /* In a launch the thread has no loop, so the record's `loop` may describe another thread's loop. */
    bool launch = atomic_load(&c->open.is_launch) != 0;
    if (atomic_load(&c->open.state) != HD_RECORD_HANG_LASTS ||
        (!launch && atomic_load(&c->loop.certainty) >= HD_RECORD_LOOP_LIKELY)) {
        return;
    }
    path_of_open(c, HD_SPOOL_DEFERRED, path);
    if (drop(c, path, launch ? NULL : dropped)) {
        atomic_store(&c->open.state, HD_RECORD_NO_HANG);
        atomic_fetch_add(&c->losses.withdrawn, 1);
    }
}

static int is_deferred(const struct dirent *e) {
    return hd_spool_what(e->d_name) == HD_SPOOL_DEFERRED;
}

/* If `loop_seen`, publishes the deferred reports of a session; otherwise drops them. The order is that of the
 * hangs, by their ids, since the reporter prints in it. Returns 0, or the last failed rename's -errno. */
static int settle_deferred(struct hd_record *c, const char *session, bool loop_seen,
                           struct settle_dropped *dropped) {
    const char *spool = spool_folder(c->options.spool);
    struct dirent **found = NULL;
    /* After a failed scan `count` is -1. write_session fails then, too, and counts the failure. */
    int count = scandir(spool, &found, is_deferred, alphasort), rc = 0;
    for (int i = 0; i < count; i++) {
        char from[4096], to[4096];
        snprintf(from, sizeof from, "%s/%s", spool, found[i]->d_name);
        snprintf(to, sizeof to, "%s/%.36s.json", spool, found[i]->d_name + 1);
        if (is_of_session(from, session)) {
            bool is_batch = loop_seen && batch_job_launch(c, from);
            if (!loop_seen || is_batch) {
                drop(c, from, is_batch ? NULL : dropped);
            } else if (rename(from, to) != 0) {
                rc = count_failure(c, -errno);
            }
        }
        free(found[i]);
    }
    free(found);
    return rc;
}

static int replace_open(const struct hd_record *c, const json_t *report) {
    char path[4096];
    path_of_open(c, HD_SPOOL_REPORT, path);
    return report_file_replace(path, report, NULL);
}

/* Adds `more` to a sum in the record. If the result is above the largest JSON integer, it becomes that
 * integer: the program can store any number in the record. */
void settle_record_add(_Atomic uint64_t *sum, uint64_t more) {
    uint64_t all = atomic_load(sum);
    atomic_store(sum, more > INT64_MAX || all > INT64_MAX - more ? INT64_MAX : all + more);
}

/* Adds to the record's sums a hang that the process could not add, because the process ended first. */
static void count(struct hd_record *c, uint64_t duration_ns) {
    settle_record_add(&c->hangs.count, 1);
    settle_record_add(&c->hangs.total_ns, duration_ns);
}

/* Counts an open hang that has no report, and counts the missing report as a spool failure. Skips a hang
 * that has ended, and a hang of a loop that was less than likely (HD_RECORD_LOOP_LIKELY). Also skips the hang
 * of a launch, because no loop followed that launch. */
static void count_lost(struct hd_record *c, bool ended, bool died, uint64_t duration_ns) {
    bool known =
        atomic_load(&c->loop.certainty) >= HD_RECORD_LOOP_LIKELY && atomic_load(&c->open.is_launch) == 0;
    if (ended || !known) {
        return;
    }
    count(c, duration_ns);
    count_failure(c, -atomic_load(&c->losses.spool_error));
    atomic_store(&c->open.state, died ? HD_RECORD_HANG_FATAL : HD_RECORD_NO_HANG);
}

static void set_signal(json_t *report, int death) {
    const char *name = death != SETTLE_DEATH_UNKNOWN ? sigabbrev_np(death) : NULL;
    if (name != NULL) {
        json_object_set_new(report, "crash", json_pack("{s:o}", "signal", json_sprintf("SIG%s", name)));
    }
}

/* Returns the time from the monitor's last look, which is in the record, to the end of the process. Two
 * looks are at most 1.5 times the record's `interval_ns` apart. In a long hang they are a twentieth of the
 * hang's duration apart, at most 1 s. If more time has passed since the last look, a signal stopped the
 * process or the process died slowly. In this case the function returns 0. */
static uint64_t since_last_look(struct hd_record *c, uint64_t ended_ns) {
    uint64_t duration_ns = atomic_load(&c->open.duration_ns);
    uint64_t looked_ns = atomic_load(&c->open.since_ns) + duration_ns;
    uint64_t late_ns = 2 * c->options.interval_ns + 50 * HD_NS_PER_MS;
    uint64_t apart_ns = duration_ns / 20 < HD_NS_PER_S ? duration_ns / 20 : HD_NS_PER_S;
    uint64_t most_ns = late_ns + apart_ns;
    return ended_ns > looked_ns && ended_ns - looked_ns < most_ns ? ended_ns - looked_ns : 0;
}

/* Completes the report of the open hang by the record's values, which are newer than the report's.
 * `ended_ns`: the time when the process ended; 0: not known. Returns 0 or a negative errno value. */
static int close_open_hang(struct hd_record *c, int death, uint64_t ended_ns) {
    char path[4096];
    struct problem why;
    uint32_t open = atomic_load(&c->open.state);
    uint32_t clean = atomic_load(&c->status.end);
    if (open == HD_RECORD_NO_HANG || open == HD_RECORD_HANG_FATAL || clean == HD_RECORD_STOPPED) {
        return 0;
    }
    bool died = death != SETTLE_BY_ITSELF && clean == HD_RECORD_RUNS;
    path_of_open(c, HD_SPOOL_REPORT, path);
    json_t *report = is_of_another_run(c, c->open.hang_id) ? NULL : report_load(path, &why);
    bool ended = open == HD_RECORD_HANG_ENDED;
    uint64_t duration_ns = ended ? atomic_load(&c->open.ended_duration_ns)
                                 : atomic_load(&c->open.duration_ns) + since_last_look(c, ended_ns);
    if (report == NULL) {
        count_lost(c, ended, died, duration_ns);
        return 0; /* returns no error, because a later call would find no report either */
    }
    if (json_is_true(json_object_get(report, "complete"))) {
        json_decref(report);
        return 0;
    }
    /* The report may have samples that are newer than the monitor's last look. In this case the report's
     * duration is longer than the record's, and stays. */
    uint64_t shown_ns = duration_of(report);
    duration_ns = !ended && shown_ns > duration_ns ? shown_ns : duration_ns;
    json_object_set_new(report, "duration_ns", json_integer((json_int_t)duration_ns));
    if (ended || !died) {
        /* a hang is not fatal if it ended, or if the program exited by itself in it */
        json_object_set_new(report, "complete", json_true());
    } else {
        json_object_set_new(report, "kind", json_string("fatal-hang"));
        set_signal(report, death);
    }
    int rc = replace_open(c, report);
    json_decref(report);
    /* A failed write of this report must count only once. If the hang had ended, the process may already
     * have counted the failure. */
    if (!ended || atomic_load(&c->losses.spool_failures) == 0) {
        count_failure(c, rc);
    }
    if (rc == 0) { /* changes the hang's state, so that a second settling changes nothing */
        atomic_store(&c->open.state, !ended && died ? HD_RECORD_HANG_FATAL : HD_RECORD_NO_HANG);
    }
    if (!ended && (rc == 0 || c->options.exec_mode == 0)) {
        count(c, duration_ns);
    }
    return rc;
}

static int write_session(struct hd_record *c, uint64_t used_ns, const char *previous_end) {
    struct hd_session s;
    struct hd_monitor_cost cost;
    struct hd_spool folder;
    int rc = hd_spool_open(&folder, spool_folder(c->options.spool));
    if (rc != 0) {
        return count_failure(c, rc);
    }
    hd_spool_make_room(&folder); /* makes space for the published deferred reports, too */
    atomic_fetch_add(&c->losses.dropped_reports, folder.dropped);
    hd_session_fill(c, used_ns, &s, &cost);
    s.previous_end = previous_end;
    const char *version = c->options.app_version, *environment = c->options.environment;
    struct hd_app app = {.name = c->options.app_name,
                         .version = version[0] != '\0' ? version : NULL,
                         .environment = environment[0] != '\0' ? environment : NULL,
                         .pid = (int)atomic_load(&c->owner.pid),
                         .started_wall_ns = c->options.started_wall_ns};
    memcpy(app.session, c->options.session, sizeof app.session);
    struct hd_host host = {.cpus = (int)sysconf(_SC_NPROCESSORS_ONLN), .origin = &c->options.origin};
    struct hd_report report = {.kind = HD_REPORT_SESSION,
                               .started_wall_ns = c->options.started_wall_ns,
                               .duration_ns = s.used_ns,
                               .complete = true,
                               .app = &app,
                               .host = &host,
                               .cpu_percent = -1,
                               .monitor = &cost,
                               .session = &s};
    if (c->options.hook[0] != '\0') {
        report.hook = c->options.hook;
        report.turns = c->options.turns;
    }
    /* If `session_id` has no UUID version, the process has not started to write its session report. In
     * this case the report gets a new id. It also gets one if a report of another run has this id. */
    if (c->open.session_id[6] == 0 || is_of_another_run(c, c->open.session_id)) {
        hd_uuid_make_session(c->open.session_id, c->options.started_wall_ns + s.used_ns);
    }
    memcpy(report.id, c->open.session_id, sizeof report.id);
    struct hd_report_scratch *scratch = calloc(1, hd_report_scratch_bytes());
    rc = scratch != NULL ? hd_spool_write(&folder, &report, scratch, false) : -ENOMEM;
    hd_spool_close(&folder);
    free(scratch);
    return count_failure(c, rc);
}

/* Settles one record. `death`: how the record's process ended. `ended_ns`: the time of this end; 0: not
 * known. `used_ns`: the time for which the program ran, for the session report. Returns 0, or a negative
 * errno value if some report could not be written. */
int settle_record(struct hd_record *c, int death, uint64_t ended_ns, uint64_t used_ns,
                  const char *previous_end, struct settle_dropped *dropped) {
    char session[37];
    bool loop_seen = atomic_load(&c->loop.certainty) != HD_RECORD_NO_LOOP;
    bool likely = atomic_load(&c->loop.certainty) >= HD_RECORD_LOOP_LIKELY;
    hd_uuid_text(c->options.session, session);
    drop_open_hang(c, dropped);
    int deferred = settle_deferred(c, session, likely, dropped), hang = close_open_hang(c, death, ended_ns);
    int rc = hang != 0 ? hang : deferred;
    /* If the write of a report fails in a run with --exec, a later call settles the record again, and
     * writes the session report. */
    if (loop_seen && (rc == 0 || c->options.exec_mode == 0)) {
        rc = write_session(c, used_ns, previous_end);
    }
    return rc;
}
