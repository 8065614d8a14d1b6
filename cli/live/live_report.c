/* SPDX-License-Identifier: MIT */
#include "cli/live/live_report.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "cli/base/libexec.h"
#include "cli/live/last_ran.h"
#include "cli/live/module_file.h"
#include "cli/live/waits.h"
#include "cli/reader/symbolicate.h"
#include "cli/reader/symbols_option.h"
#include "os/linux/proc_status.h"
#include "record/uuid.h"

/* ---- the document ----------------------------------------------------------------------------- */

struct text {
    char *bytes;
    size_t used, room;
};

static int put(void *ctx, const char *bytes, size_t n) {
    struct text *t = ctx;
    if (t->used + n > t->room) {
        size_t room = 2 * (t->used + n);
        char *more = realloc(t->bytes, room);
        if (more == NULL) {
            return -ENOMEM;
        }
        t->bytes = more;
        t->room = room;
    }
    memcpy(t->bytes + t->used, bytes, n);
    t->used += n;
    return 0;
}

/* The number after `key` in the process's `status` file; 0: not known. */
static uint64_t status_number(const struct live_process *p, const char *key) {
    return hd_proc_status_number(p->proc_fd, "status", key, 10);
}

static void fill_app(const struct live_threads *t, struct hd_app *app) {
    const struct live_process *p = t->process;
    *app = (struct hd_app){
        .name = p->name, .executable = p->executable, .pid = p->pid, .started_wall_ns = p->started_wall_ns};
    int program = hd_modules_at(t->modules, t->map.entry);
    if (program >= 0) {
        const struct hd_module *m = &t->modules->module[program];
        memcpy(app->build_id, m->build_id, sizeof app->build_id);
        app->build_id_bytes = m->build_id_bytes;
    }
}

static uint64_t wall_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * HD_NS_PER_S + (uint64_t)now.tv_nsec;
}

static json_t *write_and_read(const struct hd_report *r) {
    struct text text = {0};
    struct hd_report_scratch *scratch = calloc(1, hd_report_scratch_bytes());
    json_t *report = NULL;
    if (scratch != NULL && hd_report_write(r, scratch, (struct hd_sink){.put = put, .ctx = &text}) == 0) {
        report = json_loadb(text.bytes, text.used, 0, NULL);
    }
    free(scratch);
    free(text.bytes);
    return report;
}

/* Adds for how long each blocked thread has not run. */
static void add_times(json_t *report, const struct live_threads *t) {
    json_t *threads = json_object_get(report, "threads");
    struct last_ran *item = calloc(t->count + 1, sizeof *item);
    if (item == NULL) {
        return;
    }
    for (size_t i = 0; i < t->count; i++) {
        const struct hd_thread_record *r = &t->record[i];
        bool blocked = r->error == 0 && (r->state == HD_RUN_BLOCKED || r->state == HD_RUN_UNINTERRUPTIBLE);
        item[i].tid = blocked ? hd_thread_id_tid(r->thread) : 0;
    }
    last_ran_read(t->process->proc_fd, item, t->count);
    for (size_t i = 0; i < t->count; i++) {
        if (item[i].still_ns != 0) {
            json_object_set_new(json_array_get(threads, i), "for_ns",
                                json_integer((json_int_t)item[i].still_ns));
        }
    }
    free(item);
}

json_t *live_report(const struct live_threads *t) {
    struct hd_app app;
    struct utsname system = {0};
    uname(&system);
    fill_app(t, &app);
    struct hd_host host = {.kernel = system.release,
                           .cpus = (int)sysconf(_SC_NPROCESSORS_ONLN),
                           .memory_bytes =
                               (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE)};
    struct hd_monitor_cost cost = {
        .samples = t->count, .pause_max_ns = t->pause_max_ns, .pause_total_ns = t->pause_total_ns};
    uint64_t took_ns = t->ended_ns - t->began_ns;
    struct hd_report r = {.kind = HD_REPORT_LIVE,
                          .complete = true,
                          .debugger = status_number(t->process, "TracerPid:") != 0,
                          .started_wall_ns = wall_ns() - took_ns,
                          .duration_ns = took_ns,
                          .app = &app,
                          .host = &host,
                          .cpu_percent = -1,
                          .rss_bytes = status_number(t->process, "VmRSS:") * 1024,
                          .thread_count = (int)t->count,
                          .threads = t->record,
                          .thread_records = (uint32_t)t->count,
                          .threads_left_out = (uint32_t)t->own,
                          .thread_frames = t->frame,
                          .modules = t->modules,
                          .scripts = t->scripts,
                          .monitor = &cost};
    hd_uuid_make(r.id, r.started_wall_ns);
    json_t *report = write_and_read(&r);
    add_times(report, t);
    return report;
}

struct symbolizer *live_symbolizer(const struct live_threads *t, bool debuginfod) {
    return symbolizer_create(&(struct symbolizer_options){.debuginfod = debuginfod,
                                                          .on_wait = symbols_say_wait,
                                                          .worker = libexec_look_up(),
                                                          .open = module_file_open,
                                                          .open_arg = (void *)(uintptr_t)&t->map});
}

void live_report_symbolicate(json_t *report, const struct live_threads *t, struct symbolizer *s,
                             json_t **notes) {
    if (s != NULL) {
        report_symbolicate(report, s, t->process->uid, REPORT_ALL, notes);
    }
}

void live_report_add_waits(json_t *report, const struct live_threads *t) {
    json_t *threads = json_object_get(report, "threads"), *rings = wait_rings(t);
    for (size_t i = 0; i < t->count && i < json_array_size(threads); i++) {
        json_t *cause = wait_cause(report, t, i);
        if (cause != NULL) {
            json_object_set_new(json_array_get(threads, i), "cause", cause);
        }
    }
    if (json_array_size(rings) != 0) {
        json_object_set(report, "deadlocks", rings);
    }
    json_decref(rings);
}
