/* SPDX-License-Identifier: MIT
 *
 * A frame is written as module and offset, or as the function of a script. Worker: no allocation.
 */
#include "report/live_text.h"

#include <string.h>

#include "base/text.h"
#include "os/syscall_table.h"
#include "report/writer.h"

#define LINE_BYTES 512

/* Writes a name that the program gave to a thread or a file: control characters become '?'. */
static void put_plain(struct hd_text *t, const char *s, size_t size) {
    for (size_t i = 0; i < size && s[i] != '\0'; i++) {
        char c = (unsigned char)s[i] < ' ' || s[i] == 0x7f ? '?' : s[i];
        hd_text_mem(t, &c, 1);
    }
}

static int end_line(struct hd_text *t, struct hd_sink sink) {
    int rc = sink.put(sink.ctx, t->buf, t->used);
    t->used = 0;
    return rc != 0 ? rc : sink.put(sink.ctx, "\n", 1);
}

static int put_head(const struct hd_report *r, struct hd_text *t, struct hd_sink sink) {
    put_plain(t, r->app->name, LINE_BYTES / 2);
    hd_text_str(t, "[");
    hd_text_i64(t, r->app->pid);
    hd_text_str(t, "], ");
    hd_text_i64(t, r->thread_count);
    hd_text_str(t, r->thread_count == 1 ? " thread, " : " threads, ");
    hd_text_time(t, r->started_wall_ns);
    return end_line(t, sink);
}

static void put_state(struct hd_text *t, const struct hd_thread_record *r) {
    const char *call = r->syscall_nr != HD_SYSCALL_NONE ? hd_syscall_name(r->syscall_nr) : NULL;
    if (r->state < HD_RUN_GONE) {
        hd_text_str(t, "  ");
        hd_text_str(t, hd_words_run(r->state));
    }
    if (call != NULL && r->state != HD_RUN_RUNNING) {
        hd_text_str(t, " in ");
        hd_text_str(t, call);
    }
    if (!hd_thread_id_is_none(r->waits_for)) {
        hd_text_str(t, ", waits for thread ");
        hd_text_u64(t, r->waits_for.number);
    }
    if (r->cpu_percent >= 0) {
        hd_text_str(t, ", ");
        hd_text_fixed(t, r->cpu_percent, 0);
        hd_text_str(t, "% CPU");
    }
}

static int put_thread(const struct hd_thread_record *r, struct hd_text *t, struct hd_sink sink) {
    hd_text_str(t, "thread ");
    hd_text_u64(t, r->thread.number);
    hd_text_str(t, " \"");
    put_plain(t, r->name, sizeof r->name);
    hd_text_str(t, r->watched ? "\" (watched)" : "\"");
    put_state(t, r);
    return end_line(t, sink);
}

static int put_frame(const struct hd_report *r, const struct hd_frame *f, struct hd_text *t,
                     struct hd_sink sink) {
    bool script = f->script != 0 && r->scripts != NULL;
    int module = !script && r->modules != NULL ? hd_modules_at(r->modules, hd_frame_lookup_pc(f)) : -1;
    hd_text_str(t, "  ");
    if (script) {
        put_plain(t, hd_script_name(r->scripts, f), LINE_BYTES / 3);
        hd_text_str(t, "  ");
        put_plain(t, hd_writer_path(r, hd_script_file(r->scripts, f)), LINE_BYTES / 2);
        hd_text_str(t, ":");
        hd_text_u64(t, f->at);
    } else if (module >= 0) {
        put_plain(t, hd_writer_path(r, hd_module_path(r->modules, (uint32_t)module)), LINE_BYTES / 2);
        hd_text_str(t, "+");
        hd_text_hex(t, f->pc - r->modules->module[module].bias);
    } else {
        hd_text_hex(t, f->pc);
    }
    return end_line(t, sink);
}

int hd_live_text_write(const struct hd_report *r, struct hd_sink sink) {
    char line[LINE_BYTES];
    struct hd_text t;
    hd_text_init(&t, line, sizeof line);
    int rc = put_head(r, &t, sink);
    for (uint32_t i = 0; rc == 0 && i < r->thread_records; i++) {
        const struct hd_thread_record *thread = &r->threads[i];
        rc = put_thread(thread, &t, sink);
        for (uint32_t n = 0; rc == 0 && n < thread->count; n++) {
            rc = put_frame(r, &r->thread_frames[thread->first + n], &t, sink);
        }
    }
    if (rc == 0 && r->threads_left_out != 0) {
        hd_text_u64(&t, r->threads_left_out);
        hd_text_str(&t, " more threads were not read in time");
        rc = end_line(&t, sink);
    }
    return rc;
}
