/* SPDX-License-Identifier: MIT
 *
 * The slots of watched threads. The BPF programs share them and the tables that lead to them; here is which
 * slot a thread has. On the hook's thread.
 */
#ifndef HD_BPF_SLOTS_H
#define HD_BPF_SLOTS_H

#include <sys/types.h>

#include "base/types.h"
#include "outside/linux/bpf/slot.h"

struct hd_slot_owner {
    pid_t pid, tid;
    uint32_t next;     /* slot + 1, of those with the same bucket, or of the free ones */
    bool seed_is_new;  /* the first kind's sight is not sent yet: the hook made the kind */
    bool seeded;       /* and the BPF programs have seen no call of the thread */
    bool suspect;      /* all calls are hooked for this thread */
    uint64_t begun_ns; /* begin of the watch */
    uint64_t seed_args[6];
    uint32_t generation[HD_SLOT_KINDS]; /* of the kinds' last sights */
};

struct hd_slots {
    struct hd_slot *slot; /* mapped */
    struct hd_slot_owner *owner;
    uint32_t *bucket;            /* slot + 1 */
    __u64 *idle_in;              /* `in` of a wait that was found to be the loop's own; 0: none */
    uint16_t *watched_count;     /* threads for each bit */
    unsigned long long *watched; /* the BPF programs' bits */
    uint32_t count, first_free;
    uint32_t taken;  /* how many are not free */
    uint32_t behind; /* no slot from here on has been taken yet */
    int tids_fd;     /* the BPF programs' table of numbers */
};

/* `fd`, `tids_fd`: the BPF maps of `count` slots. The caller must close *s also after an error. */
int hd_slots_open(struct hd_slots *s, uint32_t count, int fd, int tids_fd, unsigned long long *watched);
void hd_slots_close(struct hd_slots *s);

/* -1: the thread has no slot. */
int hd_slots_find(const struct hd_slots *s, pid_t tid);
/* Takes a slot for a thread that has none, all zeros but its number. Until hd_slots_publish the BPF programs
 * do not see it. Returns its number, or -ENOSPC. */
int hd_slots_add(struct hd_slots *s, pid_t pid, pid_t tid);
int hd_slots_publish(struct hd_slots *s, uint32_t slot);
void hd_slots_remove(struct hd_slots *s, uint32_t slot);

#endif
