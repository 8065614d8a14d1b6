/* SPDX-License-Identifier: MIT
 *
 * A thread or a descriptor may be gone before a query reads it. So a query that fails gives no evidence, and
 * is no error.
 */
#include "cause/probe.h"

#include <string.h>

#include "cause/darwin/descriptor.h"
#include "cause/darwin/lock.h"
#include "cause/darwin/request.h"
#include "cause/darwin/wait_call.h"
#include "cause/toolkit.h"
#include "os/darwin/syscall_number.h"
#include "os/darwin/system_values.h"
#include "os/os.h"
#include "os/syscall_table.h"

/* ---- the context -------------------------------------------------------------------------------- */

void hd_probe_context_open(struct hd_probe_context *ctx) {
    ctx->proc_fd = ctx->mem_fd = -1; /* this system has no such files */
    ctx->pid = hd_os.get_pid();
}

void hd_probe_context_init(struct hd_probe_context *ctx, struct hd_modules *modules, hd_thread_id own) {
    hd_probe_context_init_other(ctx, modules, own, 0);
}

void hd_probe_context_init_other(struct hd_probe_context *ctx, struct hd_modules *modules, hd_thread_id own,
                                 uint64_t in_libc) {
    (void)own;
    ctx->modules = modules;
    ctx->in_libc = in_libc;
}

/* ---- each class of call ------------------------------------------------------------------------- */

static bool is_file_lock(int32_t nr) {
    int32_t call = hd_syscall_cancellable(nr);
    return call == HD_DARWIN_FLOCK || call == HD_DARWIN_FCNTL;
}

static void find_lock(struct hd_probe_context *ctx, const struct hd_capture *c, const struct hd_frame *frames,
                      uint32_t count, struct hd_probe *out) {
    int32_t nr = out->syscall_nr;
    if (is_file_lock(nr)) {
        hd_descriptor_find((int)c->syscall_args[0], out);
        return;
    }
    out->evidence.kind = HD_EVIDENCE_LOCK;
    hd_lock_find(ctx, nr, c, frames, count, &out->evidence.lock);
}

static void find_any(struct hd_probe_context *ctx, const struct hd_capture *c, const struct hd_frame *frames,
                     uint32_t count, struct hd_probe *out) {
    if (hd_request_is_message(out->syscall_nr)) {
        out->evidence.kind = HD_EVIDENCE_DESCRIPTOR;
        out->evidence.descriptor = (struct hd_descriptor_seen){.kind = HD_FD_PORT};
    } else {
        hd_descriptor_of_set(ctx, out->syscall_nr, c, out);
    }
    hd_request_find(ctx, out->syscall_nr, frames, count, out);
}

/* Finds the child that the call waits for, if the call's arguments name a single one. */
static void find_child(const struct hd_capture *c, struct hd_probe *out) {
    enum {
        BY_PID = 1 /* the first argument of waitid, whose second one is the process id */
    };
    int32_t first = (int32_t)c->syscall_args[0];
    int32_t call = hd_syscall_cancellable(out->syscall_nr);
    int32_t pid = call == HD_DARWIN_WAIT4                       ? first
                  : call == HD_DARWIN_WAITID && first == BY_PID ? (int32_t)c->syscall_args[1]
                                                                : 0;
    if (pid > 0) {
        out->child.pid = pid;
        hd_system_process_name(pid, out->child.name);
    }
}

void hd_probe_read(struct hd_probe_context *ctx, hd_thread_id thread, const struct hd_capture *c,
                   const struct hd_frame *frames, uint32_t count, uint64_t turn_ns, struct hd_probe *out) {
    (void)thread;
    (void)turn_ns;
    *out = (struct hd_probe){.state = c->state, .syscall_nr = hd_wait_call_find(ctx, c)};
    if (out->syscall_nr == HD_SYSCALL_NONE) {
        if (c->state == HD_RUN_RUNNING || c->state == HD_RUN_RUNNABLE) {
            hd_toolkit_find(ctx->modules, frames, count, out);
        }
        return;
    }
    switch (hd_syscall_wait(out->syscall_nr)) {
    case HD_WAIT_FILE:
        hd_descriptor_of_file(ctx, out->syscall_nr, c, out);
        break;
    case HD_WAIT_DESCRIPTOR:
    case HD_WAIT_SOCKET:
        if (hd_syscall_object(out->syscall_nr) == HD_OBJECT_DESCRIPTOR) {
            hd_descriptor_find((int)c->syscall_args[0], out);
        }
        break;
    case HD_WAIT_ANY:
        find_any(ctx, c, frames, count, out);
        break;
    case HD_WAIT_LOCK:
        find_lock(ctx, c, frames, count, out);
        break;
    case HD_WAIT_CHILD:
        find_child(c, out);
        break;
    case HD_WAIT_TIME:
    case HD_WAIT_SIGNAL:
    case HD_WAIT_MEMORY:
    case HD_WAIT_OTHER:
        break;
    }
}

void hd_probe_read_again(struct hd_probe_context *ctx, hd_thread_id thread, const struct hd_capture *c,
                         uint64_t turn_ns, struct hd_probe *probe) {
    (void)thread;
    (void)turn_ns;
    if (probe->evidence.kind == HD_EVIDENCE_LOCK) {
        hd_lock_find_again(ctx, probe->syscall_nr, c, &probe->evidence.lock);
    }
}

/* ---- other threads -------------------------------------------------------------------------------- */

int32_t hd_probe_call(struct hd_probe_context *ctx, const struct hd_capture *c) {
    return hd_wait_call_find(ctx, c);
}

hd_thread_id hd_probe_awaited_thread(struct hd_probe_context *ctx, const struct hd_capture *c,
                                     const struct hd_frame *frames, uint32_t count) {
    struct hd_probe probe = {.syscall_nr = hd_wait_call_find(ctx, c)};
    if (hd_syscall_wait(probe.syscall_nr) == HD_WAIT_LOCK && !is_file_lock(probe.syscall_nr)) {
        find_lock(ctx, c, frames, count, &probe);
    }
    return hd_evidence_awaited_thread(&probe);
}

bool hd_probe_file(struct hd_probe_context *ctx, hd_thread_id thread, const struct hd_capture *c,
                   char path[64]) {
    (void)thread;
    struct hd_probe probe = {.syscall_nr = hd_wait_call_find(ctx, c)};
    enum hd_wait wait = hd_syscall_wait(probe.syscall_nr);
    if (wait == HD_WAIT_FILE) {
        hd_descriptor_of_file(ctx, probe.syscall_nr, c, &probe);
    } else if (wait == HD_WAIT_DESCRIPTOR && hd_syscall_object(probe.syscall_nr) == HD_OBJECT_DESCRIPTOR) {
        hd_descriptor_find((int)c->syscall_args[0], &probe);
    }
    memcpy(path, probe.evidence.name, sizeof probe.evidence.name);
    return path[0] != '\0';
}
