/* SPDX-License-Identifier: MIT */
#include "recognise/kinds.h"

/* Returns the evidence of an epoll instance by its members; of[k] is the number of members of kind k. A
 * blocking call may use an epoll instance for several waits. In this case the members are pipes, at least one
 * of them to another process, or one connected socket. Any other instance is evidence for the loop. */
static enum hd_wait_evidence evidence_of_epoll(const uint32_t *of, uint32_t count) {
    bool pipes = of[HD_KIND_PIPE] > 0 && of[HD_KIND_PIPE] + of[HD_KIND_OWN_PIPE] == count;
    return pipes || of[HD_KIND_CONNECTED] > 0 ? HD_WAIT_EVIDENCE_CALL : HD_WAIT_EVIDENCE_BY_KIND;
}

/* Returns the evidence of a wait's descriptors; of[k] is the number of descriptors of kind k. Three sets of
 * descriptors are those of a blocking call. The first is only pipes: GNU make waits for its job server with
 * both ends of a pipe. The second is a single socket or eventfd: a request waits for its reply. The third is
 * pipes from a child, with eventfds or own pipes as wake-ups: Ruby reads a child's output with them. The
 * first and third may also have closed descriptors. A single socket with wake-ups may be a call's or a
 * loop's, so its evidence is plain. Other sets with wake-ups, or with a descriptor of HD_KIND_LOOPS, are
 * evidence for the loop. */
static enum hd_wait_evidence evidence_of_set(const uint32_t *of, uint32_t count) {
    uint32_t sockets = of[HD_KIND_SOCKET] + of[HD_KIND_OWN_SOCKET];
    uint32_t wakers = of[HD_KIND_EVENTFD] + of[HD_KIND_OWN_PIPE], open = count - of[HD_KIND_CLOSED];
    bool pipes = of[HD_KIND_PIPE] + of[HD_KIND_OWN_PIPE] == open;
    bool single = count == 1 && sockets + of[HD_KIND_EVENTFD] == 1;
    bool child = of[HD_KIND_PIPE] > 0 && of[HD_KIND_PIPE] + wakers == open;
    if (count > 0 && (pipes || single || child)) {
        return HD_WAIT_EVIDENCE_CALL;
    }
    bool wakes = wakers > 0 && wakers < open && !(sockets == 1 && wakers == open - 1);
    return of[HD_KIND_LOOPS] > 0 || wakes ? HD_WAIT_EVIDENCE_BY_KIND : HD_WAIT_EVIDENCE_PLAIN;
}

enum hd_wait_evidence hd_kinds_evidence(const struct hd_kinds *kinds) {
    uint32_t of[HD_KINDS] = {0};
    if (kinds->library) {
        return HD_WAIT_EVIDENCE_BY_NAME;
    }
    if (kinds->once) {
        return HD_WAIT_EVIDENCE_PLAIN;
    }
    if (!kinds->known) {
        return kinds->epoll ? HD_WAIT_EVIDENCE_BY_KIND : HD_WAIT_EVIDENCE_PLAIN;
    }
    for (uint32_t i = 0; i < kinds->count; i++) {
        of[kinds->kind[i]]++;
    }
    return kinds->epoll ? evidence_of_epoll(of, kinds->count) : evidence_of_set(of, kinds->count);
}
