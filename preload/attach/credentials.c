/* SPDX-License-Identifier: MIT
 *
 * libc makes every thread change its ids, and ends the program when not all of them come to the same.
 * Capabilities and securebits are each thread's own: where the caller's are others than those that ours were
 * born with, ours must be gone before. Ordinary code, on any thread.
 */
#include "preload/attach/credentials.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "control/instance.h"
#include "os/linux/proc_files.h"
#include "preload/attach/attach.h"

#define PATIENCE_NS (50 * HD_NS_PER_MS) /* with a worker at a disk */
#define TRY_AGAIN_NS (5 * HD_NS_PER_MS)

/* libc's, which no header of its own declares. */
extern int capget(cap_user_header_t header, cap_user_data_t data);

/* Without /proc, which a new root may not have, and without a file: there are programs that change who they
 * are for each request. */
struct ids {
    uid_t user[3];
    gid_t group[3];
};

static struct ids ours; /* libc has changed our threads' with everybody's since */

static struct ids own_ids(void) {
    struct ids now = {0};
    getresuid(&now.user[0], &now.user[1], &now.user[2]);
    getresgid(&now.group[0], &now.group[1], &now.group[2]);
    return now;
}

static _Atomic unsigned changing; /* threads in such a call: libc has one change everybody after the other */

void hd_attach_store_ids(void) {
    ours = own_ids();
}

void hd_attach_after_id_change(void) {
    if (hd_attach_own_thread() != 0) {
        hd_attach_store_ids();
    }
    atomic_fetch_sub(&changing, 1);
}

static bool has_the_same_capabilities(int tid) {
    struct __user_cap_header_struct caller = {.version = _LINUX_CAPABILITY_VERSION_3}, other = caller;
    struct __user_cap_data_struct own[_LINUX_CAPABILITY_U32S_3], its[_LINUX_CAPABILITY_U32S_3];
    memset(own, 0, sizeof own);
    memset(its, 0, sizeof its);
    other.pid = tid;
    return capget(&caller, own) == 0 && capget(&other, its) == 0 && own[0].permitted == its[0].permitted &&
           own[1].permitted == its[1].permitted && own[0].effective == its[0].effective &&
           own[1].effective == its[1].effective;
}

/* Whether a thread of ours, born with the rights of the program's first, would come to the same as the
 * caller. */
static bool has_the_same_rights(int tid) {
    struct ids own = own_ids();
    bool same =
        memcmp(&own, &ours, sizeof own) == 0 || atomic_load(&changing) > 1; /* noted when they are done */
    return same && has_the_same_capabilities(tid) &&
           hd_own_prctl(PR_GET_SECUREBITS, 0, 0, 0, 0) == hd_attach_securebits();
}

/* libc has each thread that it knows of change its ids, and waits for it: also for a worker of ours at a disk
 * that does not answer. Where the program itself has one thread, libc need not know of ours. The worker that
 * is left keeps what it is until it comes back, and then ends. */
static bool libc_sees_one(void) {
    const char *note = hd_os_single_threaded.note[0];
    return note != NULL && *note != 0;
}

/* In a call, and not waiting for work. */
static bool is_at_a_disk(int tid) {
    char text[64];
    int fd = hd_proc_open_own_task(tid, "syscall", O_RDONLY | O_CLOEXEC);
    long n = fd < 0 ? fd : hd_os.read(fd, text, sizeof text - 1);
    hd_os_close(fd);
    text[n > 0 ? n : 0] = '\0';
    return n > 0 && text[0] >= '0' && text[0] <= '9' && strtol(text, NULL, 10) != SYS_futex;
}

/* Our worker is there, and does not come back within moments. */
static bool worker_is_stuck(void) {
    const struct hd_run *run = hd_run_current();
    int tid = run != NULL ? atomic_load(&run->channel.worker_tid) : 0;
    uint64_t until_ns = hd_os_now_ns() + PATIENCE_NS;
    while (tid != 0 && is_at_a_disk(tid)) {
        if (hd_os_now_ns() >= until_ns) {
            return true;
        }
        hd_os_nap(TRY_AGAIN_NS);
    }
    return false;
}

void hd_attach_before_id_change(void) {
    int saved = errno;
    atomic_fetch_add(&changing, 1);
    int tid = hd_attach_own_thread();
    bool waits = tid != 0 && libc_sees_one() && (hd_attach_has_abandoned() || worker_is_stuck());
    if (tid != 0 && (waits || !has_the_same_rights(tid)) && !hd_attach_end_threads()) {
        hd_attach_end_watch(HD_UNWATCHED_RIGHTS);
    }
    errno = saved;
}
