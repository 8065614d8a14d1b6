/* SPDX-License-Identifier: MIT */
#include "outside/linux/bpf_slots.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "os/os.h"

static size_t mapped_bytes(uint32_t count) {
    return (sizeof(struct hd_slot) * count + 4095) & ~(size_t)4095;
}

int hd_slots_open(struct hd_slots *s, uint32_t count, int fd, int tids_fd, unsigned long long *watched) {
    *s = (struct hd_slots){.count = count, .tids_fd = tids_fd, .watched = watched};
    s->owner = calloc(count, sizeof *s->owner);
    s->bucket = calloc(count, sizeof *s->bucket);
    s->idle_in = calloc(count, sizeof *s->idle_in);
    s->watched_count = calloc(HD_WATCHED_BITS, sizeof *s->watched_count);
    s->slot = hd_os_memory_take(mapped_bytes(count));
    if (s->owner == NULL || s->bucket == NULL || s->idle_in == NULL || s->watched_count == NULL ||
        s->slot == NULL) {
        return -ENOMEM;
    }
    for (uint32_t i = count; i-- > 0;) {
        s->owner[i].next = s->first_free;
        s->first_free = i + 1;
    }
    return hd_os_memory_of_file(s->slot, mapped_bytes(count), fd);
}

void hd_slots_close(struct hd_slots *s) {
    hd_os_memory_give(s->slot, mapped_bytes(s->count));
    free(s->owner);
    free(s->bucket);
    free(s->idle_in);
    free(s->watched_count);
    *s = (struct hd_slots){.count = 0};
}

int hd_slots_find(const struct hd_slots *s, pid_t tid) {
    for (uint32_t i = s->bucket[(uint32_t)tid % s->count]; i != 0; i = s->owner[i - 1].next) {
        if (s->owner[i - 1].tid == tid) {
            return (int)i - 1;
        }
    }
    return -1;
}

int hd_slots_add(struct hd_slots *s, pid_t pid, pid_t tid) {
    if (s->first_free == 0) {
        return -ENOSPC;
    }
    uint32_t slot = s->first_free - 1, *bucket = &s->bucket[(uint32_t)tid % s->count];
    struct hd_slot_owner *o = &s->owner[slot];
    s->first_free = o->next;
    *o = (struct hd_slot_owner){.pid = pid, .tid = tid, .next = *bucket};
    *bucket = slot + 1;
    s->taken++;
    s->behind = slot < s->behind ? s->behind : slot + 1;
    s->idle_in[slot] = 0;
    memset(&s->slot[slot], 0, sizeof s->slot[slot]);
    s->slot[slot].tid = (uint32_t)tid;
    return (int)slot;
}

static void set_bit(struct hd_slots *s, pid_t tid, int more) {
    uint32_t bit = (uint32_t)tid % HD_WATCHED_BITS;
    unsigned long long mask = 1ULL << (bit % 64);
    s->watched_count[bit] = (uint16_t)(s->watched_count[bit] + more);
    if (s->watched_count[bit] != 0) {
        __atomic_fetch_or(&s->watched[bit / 64], mask, __ATOMIC_RELEASE);
    } else {
        __atomic_fetch_and(&s->watched[bit / 64], ~mask, __ATOMIC_RELEASE);
    }
}

int hd_slots_publish(struct hd_slots *s, uint32_t slot) {
    uint32_t number = (uint32_t)s->owner[slot].tid;
    set_bit(s, s->owner[slot].tid, 1);
    return bpf_map_update_elem(s->tids_fd, &number, &slot, BPF_ANY);
}

void hd_slots_remove(struct hd_slots *s, uint32_t slot) {
    struct hd_slot_owner *o = &s->owner[slot];
    uint32_t number = (uint32_t)o->tid, *link = &s->bucket[number % s->count];
    /* If the thread has ended, its BPF program has taken the number out of the table. */
    if (s->slot[slot].ended_ns == 0) {
        (void)bpf_map_delete_elem(s->tids_fd, &number);
    }
    set_bit(s, o->tid, -1);
    while (*link != slot + 1) {
        link = &s->owner[*link - 1].next;
    }
    *link = o->next;
    *o = (struct hd_slot_owner){.next = s->first_free};
    s->first_free = slot + 1;
    s->taken--;
}
