/* SPDX-License-Identifier: MIT */
#include "cause/evidence.h"

#include <string.h>

#include "os/syscall_table.h"

enum hd_fd_kind hd_evidence_fd_kind(const struct hd_probe *p) {
    return p->evidence.kind == HD_EVIDENCE_DESCRIPTOR ? (enum hd_fd_kind)p->evidence.descriptor.kind
                                                      : HD_FD_NONE;
}

const struct hd_lock_seen *hd_evidence_lock(const struct hd_probe *p) {
    static const struct hd_lock_seen none;
    return p->evidence.kind == HD_EVIDENCE_LOCK ? &p->evidence.lock : &none;
}

hd_thread_id hd_evidence_awaited_thread(const struct hd_probe *p) {
    const struct hd_lock_seen *lock = hd_evidence_lock(p);
    return hd_thread_id_is_none(lock->owner) ? lock->joined : lock->owner;
}

bool hd_evidence_awaits_reply(const struct hd_probe *p) {
    enum hd_wait wait = hd_syscall_wait(p->syscall_nr);
    return p->peer.request != NULL && hd_thread_id_is_none(hd_evidence_lock(p)->owner) &&
           (wait == HD_WAIT_LOCK || wait == HD_WAIT_ANY);
}

void hd_evidence_set_party(struct hd_probe *out, enum hd_party_role role, int32_t pid, const char *name) {
    struct hd_party_seen *party = &out->party;
    *party = (struct hd_party_seen){.pid = pid, .role = (uint8_t)role};
    for (size_t i = 0; i + 1 < sizeof party->name && name[i] != '\0'; i++) {
        bool control = (unsigned char)name[i] < 0x20 || name[i] == 0x7f;
        party->name[i] = control ? '?' : name[i];
    }
}
