/* SPDX-License-Identifier: MIT
 *
 * What the kinds of a wait's descriptors say. Pure.
 */
#include "recognise/kinds.h"

/* An instance that has nothing but pipes of others, or one connected socket, is a request of several calls.
 */
static enum hd_wait_evidence evidence_of_epoll(const uint32_t *of, uint32_t count) {
    bool pipes = of[HD_KIND_PIPE] > 0 && of[HD_KIND_PIPE] + of[HD_KIND_OWN_PIPE] == count;
    return pipes || of[HD_KIND_CONNECTED] > 0 ? HD_EVIDENCE_CALL : HD_EVIDENCE_BY_KIND;
}

/* GNU make waits for its job server by a pipe of which it has both ends: pipes alone are a call. Ruby reads a
 * child's output beside a waker of its own. One socket alone is a request; beside a waker it may be one. */
static enum hd_wait_evidence evidence_of_set(const uint32_t *of, uint32_t count) {
    uint32_t sockets = of[HD_KIND_SOCKET] + of[HD_KIND_OWN_SOCKET];
    uint32_t wakers = of[HD_KIND_EVENTFD] + of[HD_KIND_OWN_PIPE], open = count - of[HD_KIND_GONE];
    bool pipes = of[HD_KIND_PIPE] + of[HD_KIND_OWN_PIPE] == open;
    bool single = count == 1 && sockets + of[HD_KIND_EVENTFD] == 1;
    bool child = of[HD_KIND_PIPE] > 0 && of[HD_KIND_PIPE] + wakers == open;
    if (count > 0 && (pipes || single || child)) {
        return HD_EVIDENCE_CALL;
    }
    bool wakes = wakers > 0 && wakers < open && !(sockets == 1 && wakers == open - 1);
    return of[HD_KIND_LOOPS] > 0 || wakes ? HD_EVIDENCE_BY_KIND : HD_EVIDENCE_PLAIN;
}

enum hd_wait_evidence hd_kinds_evidence(const struct hd_kinds *kinds) {
    uint32_t of[HD_KINDS] = {0};
    if (kinds->library) {
        return HD_EVIDENCE_BY_NAME;
    }
    if (!kinds->known) {
        return kinds->epoll ? HD_EVIDENCE_BY_KIND : HD_EVIDENCE_PLAIN;
    }
    for (uint32_t i = 0; i < kinds->count; i++) {
        of[kinds->kind[i]]++;
    }
    return kinds->epoll ? evidence_of_epoll(of, kinds->count) : evidence_of_set(of, kinds->count);
}
