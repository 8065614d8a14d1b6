/* SPDX-License-Identifier: MIT */
#include "recognise/kinds.h"

/* A request may make several waits by one epoll instance. The members of such an instance are only pipes to
 * other processes, or one connected socket. */
static enum hd_wait_evidence evidence_of_epoll(const uint32_t *of, uint32_t count) {
    bool pipes = of[HD_KIND_PIPE] > 0 && of[HD_KIND_PIPE] + of[HD_KIND_OWN_PIPE] == count;
    return pipes || of[HD_KIND_CONNECTED] > 0 ? HD_WAIT_EVIDENCE_CALL : HD_WAIT_EVIDENCE_BY_KIND;
}

/* Three sets are a blocking call's. Only pipes: GNU make waits like this for its job server, and has both
 * ends of the pipe. A single socket or eventfd: a request. Pipes from a child, with eventfds or own pipes as
 * wake-ups: Ruby reads a child's output like this. A single socket with wake-ups may be a call's or a loop's,
 * and is plain. */
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
    if (!kinds->known) {
        return kinds->epoll ? HD_WAIT_EVIDENCE_BY_KIND : HD_WAIT_EVIDENCE_PLAIN;
    }
    for (uint32_t i = 0; i < kinds->count; i++) {
        of[kinds->kind[i]]++;
    }
    return kinds->epoll ? evidence_of_epoll(of, kinds->count) : evidence_of_set(of, kinds->count);
}
