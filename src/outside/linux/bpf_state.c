/* SPDX-License-Identifier: MIT */
#include "outside/linux/bpf_state.h"

void hd_bpf_state_remove(struct hd_hook *h, uint32_t slot) {
    const struct hd_slot_owner *o = &h->slots.owner[slot];
    h->suspects -= o->suspect;
    h->new_seeds -= o->seed_is_new;
    h->seeds -= o->seeded;
    hd_slots_remove(&h->slots, slot);
}

void hd_bpf_state_unwatch(struct hd_hook *h, pid_t tid) {
    int slot = hd_slots_find(&h->slots, tid);
    if (slot >= 0) {
        hd_bpf_state_remove(h, (uint32_t)slot);
    }
}
