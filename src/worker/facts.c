/* SPDX-License-Identifier: MIT
 *
 * Reads the facts from the captured threads, from /proc, and from files of the control group. On the worker
 * thread.
 */
#include "worker/facts.h"

#include <string.h>

#include "cause/pressure.h"
#include "cause/throttled.h"

void hd_facts_take(const struct hd_threads *threads, const struct hd_process *process,
                   struct hd_facts *facts) {
    memset(facts, 0, sizeof *facts);
    facts->threads = threads->thread;
    facts->thread_frames = threads->frames;
    facts->thread_count = threads->count;
    facts->threads_left_out = threads->left_out;
    facts->rss_bytes = process->rss_bytes;
    facts->debugger = process->debugger;
    facts->system = &process->system;
}

void hd_facts_read_counters(const struct hd_probe_context *probe, const struct hd_turn *turn,
                            struct hd_facts *facts) {
    facts->throttled_ns = hd_throttled_ns(probe);
    facts->major_faults = hd_pressure_major_faults(probe, turn->loop.thread);
    hd_pressure_read(probe, facts->stall_ns);
    hd_pressure_memory(probe, &facts->memory_used, &facts->memory_limit);
    facts->worker_cpu_ns = hd_os_thread_cpu_ns();
}
