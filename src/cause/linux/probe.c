/* SPDX-License-Identifier: MIT
 *
 * A thread, descriptor or process may be gone before a query reads it. So a query that fails gives no
 * evidence, and is no error.
 */
#include "cause/probe.h"

#include <fcntl.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>

#include "base/text.h"
#include "cause/linux/child.h"
#include "cause/linux/database.h"
#include "cause/linux/descriptor.h"
#include "cause/linux/descriptor_set.h"
#include "cause/linux/file.h"
#include "cause/linux/file_lock.h"
#include "cause/linux/holder.h"
#include "cause/linux/join.h"
#include "cause/linux/lock.h"
#include "cause/linux/mount.h"
#include "cause/linux/output.h"
#include "cause/linux/peer.h"
#include "cause/linux/reply_thread.h"
#include "cause/pressure.h"
#include "cause/throttled.h"
#include "cause/toolkit.h"
#include "os/linux/proc_files.h"
#include "os/os.h"
#include "os/syscall_table.h"

/* ---- the context -------------------------------------------------------------------------------- */

void hd_probe_context_open(struct hd_probe_context *ctx) {
    ctx->proc_fd = hd_os.open_at(AT_FDCWD, "/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    ctx->mem_fd = hd_os_open(AT_FDCWD, "/proc/self/mem");
    ctx->pid = hd_os.get_pid();
}

void hd_probe_context_init(struct hd_probe_context *ctx, struct hd_modules *modules, hd_thread_id own) {
    hd_probe_context_init_other(ctx, modules, own, (uint64_t)(uintptr_t)&getauxval);
    hd_pressure_init(ctx);
}

void hd_probe_context_init_other(struct hd_probe_context *ctx, struct hd_modules *modules, hd_thread_id own,
                                 uint64_t in_libc) {
    ctx->modules = modules;
    ctx->in_libc = in_libc;
    hd_join_init(ctx, hd_thread_id_tid(own));
    hd_throttled_init(ctx);
}

/* The arguments of hd_probe_read, for the functions below. */
struct sample {
    struct hd_probe_context *ctx;
    int tid;
    const struct hd_capture *capture;
    const struct hd_frame *frames;
    uint32_t count;
    uint64_t turn_ns;
};

/* ---- the process that the thread waits for --------------------------------------------------------- */

/* Stores the name server that libc's resolver waits for. nscd has a socket without a name of its own. */
static void find_name_server(struct hd_probe *out) {
    const char *name = out->peer.name;
    if (strcmp(name, "socket") == 0) {
        name = "nscd";
    }
    hd_evidence_set_party(out, HD_PARTY_SERVER, 0, name);
    size_t n = strlen(out->party.name);
    if (n > 3 && strcmp(out->party.name + n - 3, ":53") == 0) {
        out->party.name[n - 3] = '\0';
    }
}

/* Stores the display server's process: the one that has the other end of the socket. Another user's server,
 * or one of another container, stays unknown. */
static void find_display_server(struct hd_probe_context *ctx, int tid, uint64_t inode, struct hd_probe *out) {
    const uint64_t object = UINT64_C(1) << 63 | inode;
    struct hd_probe server = {0};
    if (!hd_holder_recall(ctx, tid, object, &server)) {
        int32_t pid = hd_holder_has_peer(ctx, inode);
        if (pid != 0) {
            hd_holder_set(ctx, HD_PARTY_SERVER, pid, &server);
        }
        hd_holder_store(ctx, tid, object, &server);
    }
    out->party = server.party;
}

static void find_peer(struct hd_probe_context *ctx, int tid, struct hd_probe *out) {
    enum hd_fd_kind kind = hd_evidence_fd_kind(out);
    uint64_t inode = out->evidence.descriptor.inode;
    struct hd_peer_seen *peer = &out->peer;
    if (kind == HD_FD_INET && inode != 0) {
        hd_peer_of_inet(ctx->proc_fd, tid, inode, peer->name, sizeof peer->name);
    } else if (kind == HD_FD_UNIX && inode != 0) {
        hd_peer_of_unix(inode, peer->name, sizeof peer->name);
        peer->display = hd_peer_is_display(peer->name);
        if (peer->display) {
            find_display_server(ctx, tid, inode, out);
        }
    }
    if (peer->name[0] != '\0' && hd_reply_is_of_resolver(out)) {
        find_name_server(out);
    }
}

/* Finds a request on the stack, such as a D-Bus call. If a thread of the library reads the reply, the peer of
 * that thread's socket is also the peer of the request. */
static void find_reply(const struct sample *s, struct hd_probe *out) {
    struct hd_probe_context *ctx = s->ctx;
    struct hd_capture call;
    struct hd_probe there = {0};
    const char *thread = hd_reply_find(&ctx->replies, ctx->modules, s->capture, s->frames, s->count, out);
    int tid = thread != NULL ? hd_reply_thread_find(ctx->proc_fd, thread, &call) : 0;
    if (tid != 0 && hd_syscall_wait(call.syscall_nr) == HD_WAIT_ANY) {
        hd_descriptor_set_find(ctx, tid, &call, &there);
        find_peer(ctx, tid, &there);
        memcpy(out->peer.name, there.peer.name, sizeof out->peer.name);
        if (there.party.role != HD_PARTY_NONE) {
            out->party = there.party;
        }
    }
}

/* Finds the process that the thread waits for: the peer of the socket that its call works on, or a child. */
static void find_process(const struct sample *s, struct hd_probe *out) {
    find_peer(s->ctx, s->tid, out);
    int32_t named = out->child.pid;
    hd_child_find(s->ctx, s->tid, s->turn_ns, out);
    out->child.pid = named != 0 ? named : hd_child_awaited(s->ctx, s->tid, s->capture, out->child.pid);
    if (out->child.pid > 0) {
        hd_child_name(s->ctx, out->child.pid, out->child.name);
    }
    hd_output_find(s->ctx, s->tid, s->capture, out);
}

/* ---- each class of call ------------------------------------------------------------------------- */

static void find_code(const struct sample *s, struct hd_probe *out) {
    if (out->state == HD_RUN_RUNNING || out->state == HD_RUN_RUNNABLE) {
        hd_toolkit_find(s->ctx->modules, s->frames, s->count, out);
    }
}

static void find_set(const struct sample *s, struct hd_probe *out) {
    hd_descriptor_set_find(s->ctx, s->tid, s->capture, out);
    enum hd_fd_kind kind = hd_evidence_fd_kind(out);
    if (kind == HD_FD_EVENT || kind == HD_FD_INET || kind == HD_FD_UNIX) {
        find_reply(s, out);
    }
}

/* If the user works with a child in the terminal, a turn that is blocked on a lock without a known owner is
 * no hang. A shell, for example, waits for a semaphore that the shell's SIGCHLD handler posts when the child
 * ends. */
static void find_terminal_user(const struct sample *s, struct hd_probe *out) {
    struct hd_probe child = {0};
    if (!hd_evidence_lock(out)->owned) {
        hd_child_find(s->ctx, s->tid, s->turn_ns, &child);
        out->not_a_hang = child.not_a_hang;
    }
}

/* Fills out->evidence for a thread that is blocked on a futex or on a file lock. */
static void find_lock(const struct sample *s, struct hd_probe *out) {
    const struct hd_capture *c = s->capture;
    if (c->syscall_nr == SYS_futex) {
        struct hd_lock_seen *lock = &out->evidence.lock;
        out->evidence.kind = HD_EVIDENCE_LOCK;
        lock->address = c->syscall_args[0];
        hd_lock_find(s->ctx, c, s->frames, s->count, lock);
        lock->joined = hd_thread_id_of(hd_join_target(s->ctx, c));
        find_reply(s, out);
    } else if (c->syscall_nr == SYS_flock || c->syscall_nr == SYS_fcntl) {
        hd_descriptor_find(s->ctx->proc_fd, s->tid, (int)c->syscall_args[0], &out->evidence);
        hd_file_lock_find(s->ctx, s->tid, c, out);
    }
    find_terminal_user(s, out);
}

void hd_probe_read(struct hd_probe_context *ctx, hd_thread_id thread, const struct hd_capture *c,
                   const struct hd_frame *frames, uint32_t count, uint64_t turn_ns, struct hd_probe *out) {
    const int tid = hd_thread_id_tid(thread);
    const struct sample s = {ctx, tid, c, frames, count, turn_ns};
    *out = (struct hd_probe){.state = c->state, .syscall_nr = c->syscall_nr};
    if (c->syscall_nr == HD_SYSCALL_NONE) {
        find_code(&s, out);
        return;
    }
    switch (hd_syscall_wait(c->syscall_nr)) {
    case HD_WAIT_FILE:
        hd_file_find(ctx, tid, c, &out->evidence);
        hd_mount_find(ctx, tid, c, out);
        break;
    case HD_WAIT_DESCRIPTOR:
    case HD_WAIT_SOCKET:
        hd_descriptor_of_call(ctx->proc_fd, tid, c, out);
        hd_mount_find(ctx, tid, c, out);
        break;
    case HD_WAIT_ANY:
        find_set(&s, out);
        break;
    case HD_WAIT_LOCK:
        find_lock(&s, out);
        return;
    case HD_WAIT_MEMORY:
        out->child.vforked = hd_child_by_vfork(ctx, c);
        if (!out->child.vforked) {
            return;
        }
        break;
    case HD_WAIT_TIME:
        hd_database_find(ctx, tid, c, frames, count, out);
        return;
    case HD_WAIT_OTHER:
        return;
    case HD_WAIT_SIGNAL:
    case HD_WAIT_CHILD:
        break;
    }
    find_process(&s, out);
}

void hd_probe_read_again(struct hd_probe_context *ctx, hd_thread_id thread, const struct hd_capture *c,
                         uint64_t turn_ns, struct hd_probe *probe) {
    struct hd_lock_seen *lock = &probe->evidence.lock;
    if (hd_evidence_lock(probe)->ownable) {
        int owner = hd_lock_owner_now(ctx, c, (enum hd_lock_kind)lock->kind, lock->owned);
        lock->owner = hd_thread_id_of(owner);
        lock->owned |= owner != 0;
    }
    if (probe->child.alive) {
        struct hd_probe child = {.syscall_nr = probe->syscall_nr, .child.vforked = probe->child.vforked};
        hd_child_find(ctx, hd_thread_id_tid(thread), turn_ns, &child);
        probe->not_a_hang |= child.not_a_hang;
    }
}

int32_t hd_probe_call(struct hd_probe_context *ctx, const struct hd_capture *c) {
    (void)ctx;
    return c->syscall_nr;
}

hd_thread_id hd_probe_awaited_thread(struct hd_probe_context *ctx, const struct hd_capture *c,
                                     const struct hd_frame *frames, uint32_t count) {
    int owner = hd_lock_owner(ctx, c, frames, count);
    return hd_thread_id_of(owner != 0 ? owner : hd_join_target(ctx, c));
}

bool hd_probe_file(struct hd_probe_context *ctx, hd_thread_id thread, const struct hd_capture *c,
                   char path[64]) {
    const int tid = hd_thread_id_tid(thread);
    struct hd_probe e = {0};
    enum hd_wait wait = hd_syscall_wait(c->syscall_nr);
    if (wait == HD_WAIT_FILE) {
        hd_file_find(ctx, tid, c, &e.evidence);
    } else if (wait == HD_WAIT_DESCRIPTOR) {
        hd_descriptor_of_call(ctx->proc_fd, tid, c, &e);
    }
    memcpy(path, e.evidence.name, sizeof e.evidence.name);
    return path[0] != '\0';
}
