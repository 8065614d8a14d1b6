/* SPDX-License-Identifier: MIT
 *
 * Worker: which thread's end a thread waits for (pthread_join). No allocation.
 *
 * libc waits by a futex on the number in the other thread's descriptor, which the kernel clears when that
 * thread has ended (CLONE_CHILD_CLEARTID). Where in a descriptor the number is, our own thread's tells; and
 * that begins with pointers to itself (tcbhead_t, glibc's sysdeps/x86_64/nptl/tls.h), by which another one is
 * known for what it is. Where none do, nothing is claimed.
 */
#include <pthread.h>
#include <string.h>

#include "worker/worker.h"

#define HEAD_WORDS 4
#define DESCRIPTOR_BYTES 1024u /* of some 2300: the number is at 720 */

void hd_joined_init(struct hd_worker *k) {
    const uint64_t self = (uint64_t)pthread_self();
    const uint8_t *own = (const uint8_t *)self;
    uint64_t head[HEAD_WORDS];
    memcpy(head, own, sizeof head);
    for (unsigned i = 0; i < HEAD_WORDS; i++) {
        k->descriptor_self |= (head[i] == self) << i;
    }
    for (uint32_t at = 0; at < DESCRIPTOR_BYTES && k->descriptor_tid == 0; at += sizeof(int32_t)) {
        int32_t tid;
        memcpy(&tid, own + at, sizeof tid);
        k->descriptor_tid = tid == k->own_tid ? at : 0;
    }
}

int hd_joined_tid(const struct hd_worker *k, const struct hd_capture *c) {
    uint64_t base = c->syscall_args[0] - k->descriptor_tid, head[HEAD_WORDS];
    uint32_t tid = (uint32_t)c->syscall_args[2];
    if (!c->futex_read || c->futex_words[0] != tid || tid == 0 || k->descriptor_tid == 0 ||
        k->descriptor_self == 0 ||
        hd_os.read_memory(hd_os.get_pid(), base, head, sizeof head) != (long)sizeof head) {
        return 0;
    }
    for (unsigned i = 0; i < HEAD_WORDS; i++) {
        if ((k->descriptor_self >> i & 1) != 0 && head[i] != base) {
            return 0;
        }
    }
    return (int)tid;
}
