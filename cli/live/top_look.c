/* SPDX-License-Identifier: MIT
 *
 * The threads, their stacks and names, and how much of a CPU each used since the look before. Ordinary code.
 */
#include "cli/live/top_look.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/text.h"
#include "cli/live/live_report.h"
#include "os/linux/proc_files.h"
#include "os/os.h"

void top_look_start(struct top_look *l, const struct live_process *p) {
    *l = (struct top_look){.process = p};
}

static void forget(struct top_look *l) {
    json_decref(l->report);
    json_decref(l->notes);
    l->report = l->notes = NULL;
}

void top_look_end(struct top_look *l) {
    forget(l);
    symbolizer_destroy(l->symbolizer);
    live_threads_free(&l->threads);
    free(l->thread);
    free(l->before);
    *l = (struct top_look){0};
}

static uint64_t clock_ns(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * HD_NS_PER_S + (uint64_t)now.tv_nsec;
}

/* ---- shares of a CPU -------------------------------------------------------------------------- */

static bool make_room(struct top_look *l) {
    if (l->threads.count <= l->room) {
        return true;
    }
    size_t room = 2 * l->threads.count;
    struct top_thread *threads = realloc(l->thread, room * sizeof *threads);
    l->thread = threads != NULL ? threads : l->thread;
    struct top_cpu *before = realloc(l->before, room * sizeof *before);
    l->before = before != NULL ? before : l->before;
    if (threads == NULL || before == NULL) {
        return false;
    }
    l->room = room;
    return true;
}

static uint64_t cpu_ns_of(const struct top_look *l, int tid) {
    char text[96];
    uint64_t ns;
    if (hd_proc_read_task(l->process->proc_fd, tid, "schedstat", text, sizeof text) <= 0) {
        return 0;
    }
    hd_text_take_number(text, &ns);
    return ns;
}

/* Threads are listed in the same order each time: the search begins where the last one was found. */
static double share_of(const struct top_look *l, size_t *from, int tid, uint64_t cpu_ns) {
    for (size_t n = 0; n < l->before_count && l->at_ns > l->before_ns; n++) {
        const struct top_cpu *b = &l->before[(*from + n) % l->before_count];
        if (b->tid == tid) {
            *from = (*from + n + 1) % l->before_count;
            double share =
                cpu_ns > b->cpu_ns ? (double)(cpu_ns - b->cpu_ns) / (double)(l->at_ns - l->before_ns) : 0;
            return share < 1 ? 100 * share : 100;
        }
    }
    return -1;
}

static void list(struct top_look *l, const uint64_t *cpu_ns) {
    size_t from = 0;
    for (size_t i = 0; i < l->count; i++) {
        const struct hd_thread_record *r = &l->threads.record[i];
        struct top_thread *t = &l->thread[i];
        *t = (struct top_thread){.tid = hd_thread_id_tid(r->thread),
                                 .place = i,
                                 .cpu_percent = share_of(l, &from, hd_thread_id_tid(r->thread), cpu_ns[i])};
        memcpy(t->name, r->name, sizeof r->name < sizeof t->name ? sizeof r->name : sizeof t->name - 1);
    }
    for (size_t i = 0; i < l->count; i++) {
        l->before[i] = (struct top_cpu){l->thread[i].tid, cpu_ns[i]};
    }
    l->before_count = l->count;
}

static int take_shares(struct top_look *l) {
    uint64_t *cpu_ns = calloc(l->threads.count + 1, sizeof *cpu_ns);
    if (cpu_ns == NULL || !make_room(l)) {
        free(cpu_ns);
        return -ENOMEM;
    }
    l->count = l->threads.count;
    l->before_ns = l->at_ns;
    l->at_ns = hd_os_now_ns();
    for (size_t i = 0; i < l->count; i++) {
        cpu_ns[i] = cpu_ns_of(l, hd_thread_id_tid(l->threads.record[i].thread));
    }
    list(l, cpu_ns);
    free(cpu_ns);
    return 0;
}

/* ---- a look ----------------------------------------------------------------------------------- */

int top_look_take(struct top_look *l) {
    uint64_t began_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    forget(l);
    l->count = 0;
    int rc = l->threads.reading == NULL ? live_threads_read(&l->threads, l->process, false)
                                        : live_threads_again(&l->threads);
    if (rc == 0) {
        rc = take_shares(l);
    }
    if (rc != 0) {
        return rc;
    }
    l->report = live_report(&l->threads);
    if (l->report == NULL) {
        return -ENOMEM;
    }
    if (l->symbolizer == NULL) {
        l->symbolizer = live_symbolizer(&l->threads, false);
    }
    live_report_symbolicate(l->report, &l->threads, l->symbolizer, &l->notes);
    live_report_add_waits(l->report, &l->threads);
    uint64_t wall_ns = clock_ns(CLOCK_REALTIME);
    l->up_ns = wall_ns > l->process->started_wall_ns ? wall_ns - l->process->started_wall_ns : 0;
    top_watch_look(&l->watch, l->process, l->report, l->up_ns);
    l->own_cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - began_ns;
    return 0;
}
