/* SPDX-License-Identifier: MIT */
#include "cause/linux/holder.h"

#include <string.h>

#include "base/text.h"
#include "cause/linux/child.h"
#include "cause/linux/peer.h"
#include "os/linux/proc_files.h"
#include "os/linux/proc_walk.h"
#include "os/os.h"

#define SEARCH_CPU_NS_MAX (20 * HD_NS_PER_MS)

struct search {
    const struct hd_probe_context *ctx;
    enum hd_holder_kind kind;
    const char *link;
    uint64_t until_cpu_ns;
    uint64_t pid;  /* the process that is searched now */
    int32_t found; /* 0: none yet */
};

/* Returns the number at the end of "/dev/pts/3". */
static uint64_t terminal_number(const char *link) {
    uint64_t number = 0;
    const char *at = strlen(link) > strlen("/dev/pts/") ? link + strlen("/dev/pts/") : "";
    hd_text_take_number(at, &number);
    return number;
}

static bool has_link(const struct search *s, const char *path) {
    char link[512];
    long n = hd_os.readlink_at(s->ctx->proc_fd, path, link, sizeof link - 1);
    link[n > 0 ? n : 0] = '\0';
    return s->kind == HD_HOLDER_HAS_MASTER
               ? n >= 9 && hd_proc_starts_with(link, "/dev/") && strcmp(link + n - 5, "/ptmx") == 0
               : strcmp(link, s->link) == 0;
}

/* Checks what the link does not show: that a pipe's end is the one for reading, and which terminal a master
 * is of. */
static bool has_info(const struct search *s, const char *path) {
    char text[512];
    uint64_t number = 0;
    (void)hd_proc_read(s->ctx->proc_fd, path, text, sizeof text);
    const char *flags = hd_proc_find_line(text, "flags:"), *tty = hd_proc_find_line(text, "tty-index:");
    switch (s->kind) {
    case HD_HOLDER_READS_PIPE:
        /* the last octal digit has the access mode in its lowest two bits; 1: only for writing */
        for (; flags != NULL && flags[0] != '\0' && flags[1] != '\n'; flags++) {
        }
        return flags != NULL && (flags[0] & 3) != 1;
    case HD_HOLDER_HAS_SOCKET:
        return true;
    case HD_HOLDER_HAS_MASTER:
        hd_text_take_number(tty != NULL ? tty : "", &number);
        return tty != NULL && number == terminal_number(s->link);
    case HD_HOLDER_LOCKS_FILE:
        return hd_proc_find_line(text, "lock:") != NULL;
    }
    return false;
}

static void put_fd_path(char path[48], const struct search *s, const char *folder, uint64_t fd) {
    char file[32];
    struct hd_text t;
    hd_text_init(&t, file, sizeof file);
    hd_text_str(&t, folder);
    hd_text_u64(&t, fd);
    hd_proc_process_path(path, 48, s->pid, file);
}

static bool has_descriptor(void *arg, uint64_t fd) {
    struct search *s = arg;
    char path[48];
    put_fd_path(path, s, "fd/", fd);
    if (!has_link(s, path)) {
        return false;
    }
    put_fd_path(path, s, "fdinfo/", fd);
    return has_info(s, path);
}

static bool is_other(const struct search *s, uint64_t pid) {
    return pid != (uint64_t)s->ctx->pid && pid <= INT32_MAX;
}

static bool reads_it(void *arg, uint64_t pid) {
    struct search *s = arg;
    s->pid = pid;
    bool found = is_other(s, pid) && has_descriptor(s, 0);
    s->found = found ? (int32_t)pid : 0;
    return found;
}

/* The first process has the sockets of the services that it starts, so another one with the socket comes
 * first. */
static bool has_it(void *arg, uint64_t pid) {
    struct search *s = arg;
    char path[48];
    s->pid = pid;
    hd_proc_process_path(path, sizeof path, pid, "fd");
    if (!is_other(s, pid) ||
        !hd_proc_walk_numbers(s->ctx->proc_fd, path, s->until_cpu_ns, has_descriptor, s)) {
        return false;
    }
    s->found = (int32_t)pid;
    return pid != 1;
}

bool hd_holder_has(const struct hd_probe_context *ctx, int32_t pid, enum hd_holder_kind kind,
                   const char *link) {
    struct search s = {
        .ctx = ctx, .kind = kind, .link = link, .until_cpu_ns = hd_os_thread_cpu_ns() + SEARCH_CPU_NS_MAX};
    return pid > 0 && (has_it(&s, (uint64_t)pid) || s.found != 0);
}

int32_t hd_holder_find(const struct hd_probe_context *ctx, enum hd_holder_kind kind, const char *link) {
    struct search s = {
        .ctx = ctx, .kind = kind, .link = link, .until_cpu_ns = hd_os_thread_cpu_ns() + SEARCH_CPU_NS_MAX};
    /* A pipe's reader mostly has it as its standard input, which is found in a short time. */
    bool found = kind == HD_HOLDER_READS_PIPE &&
                 hd_proc_walk_numbers(ctx->proc_fd, "..", s.until_cpu_ns, reads_it, &s);
    if (!found) {
        hd_proc_walk_numbers(ctx->proc_fd, "..", s.until_cpu_ns, has_it, &s);
    }
    return s.found;
}

int32_t hd_holder_has_peer(const struct hd_probe_context *ctx, uint64_t inode) {
    char link[32];
    struct hd_text t;
    uint32_t peer = hd_peer_inode_of_unix(inode);
    hd_text_init(&t, link, sizeof link);
    hd_text_str(&t, "socket:[");
    hd_text_u64(&t, peer);
    hd_text_str(&t, "]");
    return peer != 0 ? hd_holder_find(ctx, HD_HOLDER_HAS_SOCKET, link) : 0;
}

/* ---- by name ------------------------------------------------------------------------------------ */

struct named {
    const struct hd_probe_context *ctx;
    const char *name;
    int32_t found;
};

static bool is_named(void *arg, uint64_t pid) {
    struct named *s = arg;
    char name[16];
    hd_child_name(s->ctx, (int32_t)pid, name);
    s->found = strcmp(name, s->name) == 0 ? (int32_t)pid : 0;
    return s->found != 0;
}

int32_t hd_holder_named(const struct hd_probe_context *ctx, const char *name) {
    struct named s = {ctx, name, 0};
    hd_proc_walk_numbers(ctx->proc_fd, "..", hd_os_thread_cpu_ns() + SEARCH_CPU_NS_MAX, is_named, &s);
    return s.found;
}

void hd_holder_set(const struct hd_probe_context *ctx, enum hd_party_role role, int32_t pid,
                   struct hd_probe *out) {
    char name[16] = "";
    if (pid > 0) {
        hd_child_name(ctx, pid, name);
    }
    hd_evidence_set_party(out, role, pid, name);
}

bool hd_holder_recall(const struct hd_probe_context *ctx, int tid, uint64_t object, struct hd_probe *out) {
    const struct hd_found_party *found = &ctx->found_party;
    if (found->tid != tid || found->object != object || hd_os_now_ns() >= found->until_ns) {
        return false;
    }
    out->evidence = found->evidence;
    out->party = found->party;
    return true;
}

void hd_holder_store(struct hd_probe_context *ctx, int tid, uint64_t object, const struct hd_probe *found) {
    ctx->found_party = (struct hd_found_party){.until_ns = hd_os_now_ns() + HD_NS_PER_S,
                                               .object = object,
                                               .tid = tid,
                                               .evidence = found->evidence,
                                               .party = found->party};
}
