/* SPDX-License-Identifier: MIT */
#include "cli/attach/watched_list.h"

#include <stdio.h>
#include <string.h>

#include "os/os.h"
#include "record/uuid.h"

struct watched_entry *watched_list_add(struct watched_list *l, pid_t pid, const struct hd_record *record) {
    uint32_t n = atomic_load(&l->count);
    if (n == WATCHED_MAX) {
        atomic_fetch_add(&l->more, 1);
        return NULL;
    }
    struct watched_entry *e = &l->entry[n];
    e->pid = pid;
    e->options = record->options;
    e->since_ns = hd_os_now_ns();
    hd_uuid_text(record->options.session, e->session);
    watched_list_update(e, record);
    atomic_store(&l->count, n + 1);
    return e;
}

struct watched_entry *watched_list_find(struct watched_list *l, pid_t pid) {
    uint32_t count = atomic_load(&l->count);
    for (uint32_t n = 0; n < count; n++) {
        uint32_t i = (l->found + count - n) % count;
        struct watched_entry *e = &l->entry[i];
        if (e->pid == pid && atomic_load(&e->ended_ns) == 0) {
            l->found = i;
            return e;
        }
    }
    return NULL;
}

void watched_list_update(struct watched_entry *e, const struct hd_record *c) {
    uint64_t turns = 0;
    for (size_t i = 0; i < HD_TURN_BUCKETS; i++) {
        turns += atomic_load(&c->turns.histogram[i]);
    }
    atomic_store(&e->call_pc, atomic_load(&c->loop.call_pc));
    atomic_store(&e->caller_pc, atomic_load(&c->loop.caller_pc));
    atomic_store(&e->certainty, atomic_load(&c->loop.certainty));
    atomic_store(&e->waits, atomic_load(&c->loop.waits));
    atomic_store(&e->waited_ns, atomic_load(&c->loop.waited_ns));
    atomic_store(&e->hangs, atomic_load(&c->hangs.count));
    atomic_store(&e->hang_ns, atomic_load(&c->hangs.total_ns));
    atomic_store(&e->turns, turns);
    atomic_store(&e->pool_stalls, atomic_load(&c->pools.stalls));
    atomic_store(&e->pool_stall_ns, atomic_load(&c->pools.stall_ns));
    atomic_store(&e->lost_reports, atomic_load(&c->losses.spool_failures));
    atomic_store(&e->removed_reports, atomic_load(&c->losses.dropped_reports));
    atomic_store(&e->spool_error, atomic_load(&c->losses.spool_error));
}

bool watched_list_has_session(const struct watched_list *l, const char *session) {
    for (uint32_t i = 0; i < atomic_load(&l->count); i++) {
        if (strcmp(l->entry[i].session, session) == 0) {
            return true;
        }
    }
    return false;
}
