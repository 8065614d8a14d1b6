/* SPDX-License-Identifier: MIT
 *
 * Writes a report as the JSON document that report.schema.json describes. Worker code: may run while a hang
 * lasts; no allocation.
 */
#include "report/writer.h"

#include <signal.h>
#include <string.h>

size_t hd_report_scratch_bytes(void) {
    return sizeof(struct hd_report_scratch);
}

static bool is_set(const uint8_t id[HD_UUID_BYTES]) {
    for (unsigned i = 0; i < HD_UUID_BYTES; i++) {
        if (id[i] != 0) {
            return true;
        }
    }
    return false;
}

void hd_writer_field(struct hd_json *j, const char *name, const char *s, size_t size) {
    size_t n = strnlen(s, size);
    if (n != 0) {
        hd_json_mem(j, name, s, n);
    }
}

static void write_text(struct hd_json *j, const char *name, const char *s) {
    hd_json_str(j, name, s != NULL && s[0] != '\0' ? s : NULL);
}

static void write_nonzero(struct hd_json *j, const char *name, uint64_t v) {
    if (v != 0) {
        hd_json_u64(j, name, v);
    }
}

void hd_writer_numbers(struct hd_json *j, const void *of, const struct hd_writer_number *number,
                       size_t count) {
    for (; count > 0; count--, number++) {
        uint64_t v = *(const uint64_t *)(const void *)((const char *)of + number->at);
        if (v != 0 || number->always) {
            hd_json_u64(j, number->name, v);
        }
    }
}

/* ---- parts -------------------------------------------------------------------------------- */

static void write_head(const struct hd_report *r, struct hd_json *j) {
    const char *kind = hd_words_report(r->kind);
    hd_json_str(j, "format", "hangdog-report/1");
    hd_json_uuid(j, "id", r->id);
    hd_json_str(j, "kind", kind != NULL ? kind : hd_words_report(HD_REPORT_HANG));
    hd_json_time(j, "started_at", r->started_wall_ns);
    hd_json_u64(j, "duration_ns", r->duration_ns);
    hd_json_u64(j, "excluded_ns", r->excluded_ns);
    write_nonzero(j, "threshold_ns", r->threshold_ns);
    hd_json_bool(j, "complete", r->complete);
    write_nonzero(j, "start_uncertain_ns", r->start_uncertain_ns);
    if (r->at_least) {
        hd_json_bool(j, "at_least", true);
    }
    if (r->unsure) {
        hd_json_bool(j, "unsure", true);
    }
    if (is_set(r->repeat_of)) {
        hd_json_uuid(j, "repeat_of", r->repeat_of);
    }
    if (r->fingerprint != 0) {
        uint8_t bytes[8];
        for (unsigned i = 0; i < 8; i++) {
            bytes[i] = (uint8_t)(r->fingerprint >> (56 - 8 * i));
        }
        hd_json_hex_bytes(j, "fingerprint", bytes, sizeof bytes);
    }
}

static void write_app(const struct hd_app *a, struct hd_json *j) {
    hd_json_object(j, "app");
    hd_json_str(j, "name", a->name != NULL ? a->name : "");
    hd_json_str(j, "version", a->version);
    hd_json_str(j, "environment", a->environment);
    hd_json_str(j, "executable", a->executable);
    if (a->build_id_bytes != 0) {
        hd_json_hex_bytes(j, "build_id", a->build_id, a->build_id_bytes);
    }
    hd_json_i64(j, "pid", a->pid);
    if (a->started_wall_ns != 0) {
        hd_json_time(j, "started_at", a->started_wall_ns);
    }
    if (is_set(a->session)) {
        hd_json_uuid(j, "session", a->session);
    }
    hd_json_end_object(j);
}

static void write_process(const struct hd_report *r, struct hd_json *j) {
    hd_json_object(j, "process");
    if (r->cpu_percent >= 0) {
        hd_json_fixed(j, "cpu_percent", r->cpu_percent, 1);
    }
    write_nonzero(j, "rss_bytes", r->rss_bytes);
    if (r->thread_count > 0) {
        hd_json_i64(j, "thread_count", r->thread_count);
    }
    if (r->debugger) {
        hd_json_bool(j, "debugger", true);
    }
    if (r->system != NULL) {
        hd_json_str(j, "role", r->system->role);
        hd_json_str(j, "memory_pressure", r->system->memory_pressure);
        hd_json_str(j, "thermal_state", r->system->thermal_state);
    }
    hd_json_end_object(j);
}

static void write_loop(const struct hd_report *r, struct hd_json *j) {
    hd_json_object(j, "loop");
    hd_json_str(j, "name", r->loop_name);
    hd_json_u64(j, "tid", r->loop_thread.number);
    hd_json_str(j, "activity", r->loop_activity);
    hd_json_str(j, "state", r->loop_state);
    hd_json_str(j, "scheme", r->loop_scheme);
    write_nonzero(j, "background_ns", r->background_ns);
    hd_json_end_object(j);
}

static void write_party(const struct hd_party_seen *p, struct hd_json *j) {
    if (p->role == HD_PARTY_NONE) {
        return;
    }
    hd_json_object(j, "party");
    hd_json_str(j, "role", hd_words_party(p->role));
    hd_writer_field(j, "name", p->name, sizeof p->name);
    if (p->pid != 0) {
        hd_json_i64(j, "pid", p->pid);
    }
    hd_json_end_object(j);
}

static void write_cause(const struct hd_cause *c, struct hd_json *j) {
    static const struct hd_writer_number numbers[] = {
        {offsetof(struct hd_cause, run_delay_ns), false, "run_delay_ns"},
        {offsetof(struct hd_cause, throttled_ns), false, "throttled_ns"},
        {offsetof(struct hd_cause, major_faults), false, "major_faults"},
        {offsetof(struct hd_cause, stall_ns[HD_PRESSURE_MEMORY]), false, "memory_stall_ns"},
        {offsetof(struct hd_cause, stall_ns[HD_PRESSURE_CPU]), false, "cpu_stall_ns"},
        {offsetof(struct hd_cause, stall_ns[HD_PRESSURE_IO]), false, "io_stall_ns"},
        {offsetof(struct hd_cause, memory_limit), false, "memory_limit_bytes"},
        {offsetof(struct hd_cause, memory_used), false, "memory_used_bytes"}};
    uint32_t ring = c->deadlock_count;
    const uint32_t ring_max = sizeof c->deadlock / sizeof c->deadlock[0];
    hd_json_object(j, "cause");
    hd_json_str(j, "kind", hd_words_cause(c->kind < HD_CAUSE_KINDS ? c->kind : HD_CAUSE_UNKNOWN));
    hd_json_fixed(j, "share", c->share < 0 ? 0 : c->share > 1 ? 1 : c->share, 4);
    hd_writer_field(j, "detail", c->detail, sizeof c->detail);
    hd_writer_syscall(j, c->syscall_nr);
    hd_writer_field(j, "path", c->path, sizeof c->path);
    hd_writer_field(j, "peer", c->peer, sizeof c->peer);
    write_party(&c->party, j);
    if (c->child_pid != 0) {
        hd_json_i64(j, "child_pid", c->child_pid);
    }
    HD_WRITER_NUMBERS(j, c, numbers);
    if (c->lock_address != 0) {
        hd_json_hex(j, "lock_address", c->lock_address);
    }
    if (!hd_thread_id_is_none(c->lock_owner)) {
        hd_json_u64(j, "lock_owner_tid", c->lock_owner.number);
    }
    hd_json_str(j, "lock_kind", hd_words_lock(c->lock_kind));
    if (ring != 0) {
        hd_json_array(j, "deadlock");
        for (uint32_t i = 0; i < ring && i < ring_max; i++) {
            hd_json_u64(j, NULL, c->deadlock[i].number);
        }
        hd_json_end_array(j);
    }
    hd_json_end_object(j);
}

static void write_thread(const struct hd_report *r, struct hd_report_scratch *w,
                         const struct hd_thread_record *t) {
    struct hd_json *j = &w->json;
    hd_json_object(j, NULL);
    hd_json_u64(j, "tid", t->thread.number);
    hd_writer_field(j, "name", t->name, sizeof t->name);
    if (t->watched) {
        hd_json_bool(j, "watched", true);
    }
    if (t->pool) {
        hd_json_bool(j, "pool", true);
        write_nonzero(j, "for_ns", t->for_ns);
    }
    if (t->cpu_percent >= 0) {
        hd_json_fixed(j, "cpu_percent", t->cpu_percent, 1);
    }
    if (t->state != HD_THREAD_STATE_UNKNOWN) {
        hd_json_str(j, "state", hd_words_run(t->state));
    }
    if (t->state != HD_RUN_RUNNING) {
        hd_writer_syscall(j, t->syscall_nr);
    }
    hd_json_str(j, "path", t->path);
    if (!hd_thread_id_is_none(t->waits_for)) {
        hd_json_u64(j, "waits_for_tid", t->waits_for.number);
    }
    if (t->error != 0) {
        hd_writer_error(j, t->error < 0 ? -t->error : t->error);
    }
    if (t->count != 0) {
        hd_json_object(j, "stack");
        hd_json_array(j, "frames");
        for (uint32_t i = 0; i < t->count; i++) {
            hd_writer_frame(r, w, &r->thread_frames[t->first + i], -1);
        }
        hd_json_end_array(j);
        hd_writer_walk(j, t->stop, t->cut, t->way);
        hd_json_end_object(j);
    }
    hd_json_end_object(j);
}

static void write_threads(const struct hd_report *r, struct hd_report_scratch *w) {
    hd_json_array(&w->json, "threads");
    for (uint32_t i = 0; i < r->thread_records; i++) {
        if (!hd_thread_id_equal(r->threads[i].thread,
                                r->loop_thread)) { /* the loop's thread has samples instead */
            write_thread(r, w, &r->threads[i]);
        }
    }
    hd_json_end_array(&w->json);
    write_nonzero(&w->json, "threads_left_out", r->threads_left_out);
}

/* Comes after all frames: writes only the modules that have a frame. */
static void write_modules(const struct hd_report *r, struct hd_report_scratch *w) {
    struct hd_json *j = &w->json;
    hd_json_array(j, "modules");
    for (uint32_t i = 0; i < w->modules_used; i++) {
        const struct hd_module *m = &r->modules->module[w->module_order[i]];
        hd_json_object(j, NULL);
        hd_json_str(j, "path", hd_writer_path(r, hd_module_path(r->modules, w->module_order[i])));
        hd_json_hex(j, "base", m->lo);
        hd_json_u64(j, "size", m->hi - m->lo);
        if (m->build_id_bytes != 0) {
            hd_json_hex_bytes(j, "build_id", m->build_id, m->build_id_bytes);
        }
        hd_json_end_object(j);
    }
    hd_json_end_array(j);
}

static void write_monitor(const struct hd_monitor_cost *m, struct hd_json *j) {
#define COST(name, always) \
    { offsetof(struct hd_monitor_cost, name), always, #name }
    static const struct hd_writer_number numbers[] = {
        COST(samples, true),      COST(interrupted_syscalls, true), COST(restarted_syscalls, true),
        COST(pause_max_ns, true), COST(pause_total_ns, true),       COST(cpu_ns, true),
        COST(late_max_ns, true),  COST(suppressed, false)};
    hd_json_object(j, "monitor");
    HD_WRITER_NUMBERS(j, m, numbers);
    hd_json_bool(j, "degraded", m->degraded);
    hd_json_end_object(j);
}

static void write_crash(const struct hd_report *r, struct hd_json *j) {
    const struct hd_crash *c = r->crash;
    const struct hd_crash_exception *e = r->exception;
    static const struct {
        int number;
        char name[8];
    } signals[] = {{SIGABRT, "SIGABRT"}, {SIGBUS, "SIGBUS"},   {SIGFPE, "SIGFPE"},
                   {SIGILL, "SIGILL"},   {SIGSEGV, "SIGSEGV"}, {SIGTRAP, "SIGTRAP"}};
    hd_json_object(j, "crash");
    for (unsigned i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        if (signals[i].number == c->signal) {
            hd_json_str(j, "signal", signals[i].name);
        }
    }
    hd_json_i64(j, "code", c->code);
    if (c->code > 0) {
        hd_json_hex(j, "address", c->address);
    }
    hd_json_u64(j, "tid", c->thread.number);
    if (e != NULL && e->type[0] != 0) {
        hd_json_object(j, "exception");
        hd_writer_field(j, "type", e->type, sizeof e->type);
        if (!r->without_paths) { /* the text may name a file or a person */
            hd_writer_field(j, "what", e->what, sizeof e->what);
        }
        hd_json_end_object(j);
    }
    hd_json_end_object(j);
}

static void write_cpu_use(const struct hd_cpu_use_shares *s, struct hd_json *j) {
    hd_json_object(j, "cpu");
    hd_json_u64(j, "tid", s->thread.number);
    hd_json_fixed(j, "percent", s->percent, 1);
    hd_json_u64(j, "period_ns", s->period_ns);
    hd_json_end_object(j);
}

static void write_pool(const struct hd_pool_seen *p, struct hd_json *j) {
    hd_json_object(j, "pool");
    hd_json_str(j, "name", p->name);
    hd_json_u64(j, "threads", p->threads);
    if (p->queued >= 0) {
        hd_json_i64(j, "queued", p->queued);
    }
    hd_json_end_object(j);
}

/* ---- the document ------------------------------------------------------------------------- */

int hd_report_write(const struct hd_report *r, struct hd_report_scratch *w, struct hd_sink sink) {
    static const struct hd_app no_app;
    static const struct hd_host no_host;
    struct hd_json *j = &w->json;
    hd_json_init(j, w->buffer, sizeof w->buffer, sink);
    w->modules_used = 0;
    memset(w->module_place, 0xff, sizeof w->module_place);

    hd_json_object(j, NULL);
    write_head(r, j);
    write_app(r->app != NULL ? r->app : &no_app, j);
    hd_writer_host(r->host != NULL ? r->host : &no_host, j);
    hd_writer_watch(r, j);
    write_process(r, j);
    if (r->loop_name != NULL) {
        write_loop(r, j);
    }
    write_text(j, "label", r->label);
    write_text(j, "traceparent", r->traceparent);
    if (r->task != NULL && r->task->name[0] != '\0') {
        hd_writer_task(j, r->task);
    }
    if (r->cause != NULL) {
        write_cause(r->cause, j);
    }
    if (r->tree != NULL) {
        hd_writer_hot_stack(r, w);
    }
    if (r->tree != NULL && !r->brief) {
        hd_writer_samples(r, w);
    }
    if (r->thread_records != 0 && !r->brief) {
        write_threads(r, w);
    }
    if (w->modules_used != 0) {
        write_modules(r, w);
    }
    if (r->monitor != NULL) {
        write_monitor(r->monitor, j);
    }
    if (r->session != NULL) {
        hd_writer_session(r->session, j);
    }
    if (r->crash != NULL) {
        write_crash(r, j);
    }
    if (r->cpu_use != NULL) {
        write_cpu_use(r->cpu_use, j);
    }
    if (r->pool != NULL) {
        write_pool(r->pool, j);
    }
    hd_json_end_object(j);
    return hd_json_finish(j);
}
