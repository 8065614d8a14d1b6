/* SPDX-License-Identifier: MIT
 *
 * When the program changes its user or group ids, libc makes every thread change them, ours too. If a
 * thread's result differs from the others, libc aborts the program. The result depends on capabilities and
 * securebits, which each thread has for itself. So our threads end before the change if theirs differ from
 * the caller's.
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
#include "os/credentials.h"
#include "os/linux/proc_files.h"
#include "preload/attach/abandoned.h"
#include "preload/attach/attach_state.h"
#include "preload/attach/attach_stop.h"
#include "preload/waits/wait_table.h"
#include "watch/follow.h"

/* the longest time for which a worker that a disk blocks delays an id change */
#define DISK_WAIT_NS (50 * HD_NS_PER_MS)
#define DISK_POLL_NS (5 * HD_NS_PER_MS)

/* libc has this function, but declares it in no header. */
extern int capget(cap_user_header_t header, cap_user_data_t data);

/* The real, effective and saved user and group ids of a thread. This file reads them by system calls and
 * not from /proc. The folder /proc is missing under some root folders, and is too slow for a program that
 * changes ids at each request. */
struct ids {
    uid_t user[3];
    gid_t group[3];
};

/* The credentials of the monitor and the worker. */
static struct {
    struct ids ids; /* equal for all threads, because libc changes the ids of all threads together */
    /* true: the main thread changed its supplementary groups by a raw system call, our threads did not */
    bool other_groups;
    bool no_new_privs; /* true: our threads have the flag no_new_privs */
    /* The set of capabilities that our threads have dropped from the bounding set. */
    uint64_t not_bounded;
} ours;

static struct ids own_ids(void) {
    struct ids now = {0};
    getresuid(&now.user[0], &now.user[1], &now.user[2]);
    getresgid(&now.group[0], &now.group[1], &now.group[2]);
    return now;
}

void hd_attach_store_rights(void) {
    memset(&ours, 0, sizeof ours);
    ours.ids = own_ids();
    ours.no_new_privs = hd_own_prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1;
}

void hd_attach_after_id_change(void) {
    if (hd_attach_own_thread() != 0) {
        ours.ids = own_ids();
    }
    /* In a child that was forked during an id change the counter hd_follow_id_changes may be 0 already. In
     * this case the counter stays 0. */
    uint32_t changes = atomic_load(&hd_follow_id_changes);
    while (changes != 0 && !atomic_compare_exchange_weak(&hd_follow_id_changes, &changes, changes - 1)) {
    }
}

void hd_attach_forget_id_changes(void) {
    atomic_store(&hd_follow_id_changes, 0);
}

/* Reads the inheritable, permitted and effective capabilities of thread `tid`; 0: the calling thread.
 * False: the kernel refused. */
static bool read_capabilities(int tid, uint64_t sets[HD_CAPS_SETS]) {
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3, .pid = tid};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
    memset(data, 0, sizeof data);
    bool read = capget(&header, data) == 0;
    sets[HD_CAPS_INHERITABLE] = (uint64_t)data[1].inheritable << 32 | data[0].inheritable;
    sets[HD_CAPS_PERMITTED] = (uint64_t)data[1].permitted << 32 | data[0].permitted;
    sets[HD_CAPS_EFFECTIVE] = (uint64_t)data[1].effective << 32 | data[0].effective;
    return read;
}

static bool has_these(const uint64_t own[HD_CAPS_SETS], int tid) {
    uint64_t its[HD_CAPS_SETS];
    return read_capabilities(tid, its) && own[HD_CAPS_PERMITTED] == its[HD_CAPS_PERMITTED] &&
           own[HD_CAPS_EFFECTIVE] == its[HD_CAPS_EFFECTIVE];
}

/* True if the monitor and the worker have the caller's capabilities. Both are checked, because the worker may
 * drop capabilities later than the monitor. */
static bool have_the_same_capabilities(int monitor) {
    const struct hd_run *run = hd_run_current();
    int worker = run != NULL ? hd_thread_id_tid(atomic_load(&run->channel.threads.worker)) : 0;
    uint64_t own[HD_CAPS_SETS];
    return read_capabilities(0, own) && has_these(own, monitor) && (worker == 0 || has_these(own, worker));
}

/* True: the id change that the caller is about to make has the same result on our threads as on the caller.
 * `tid`: the monitor's thread id. */
static bool has_the_same_rights(int tid) {
    struct ids own = own_ids();
    bool same = memcmp(&own, &ours.ids, sizeof own) == 0 ||
                /* A counter above 1: another thread is changing ids, too, and has not stored the new ids in
                 * `ours` yet. */
                atomic_load(&hd_follow_id_changes) > 1;
    return same && !ours.other_groups && have_the_same_capabilities(tid) &&
           hd_own_prctl(PR_GET_SECUREBITS, 0, 0, 0, 0) == hd_attach_state.securebits;
}

/* True: libc's flag says that the program has one thread. In this case libc can change the ids without a
 * worker that a disk blocks, once a stop has abandoned the worker. Otherwise libc waits until each thread has
 * changed its ids, even that worker. */
static bool program_has_one_thread(void) {
    const char *flag = hd_os_single_threaded.flag[0];
    return flag != NULL && *flag != 0;
}

/* True: thread `tid` is blocked in a system call other than futex. The worker waits for work in futex, so
 * if it is blocked in another call, a disk probably blocks it. */
static bool is_at_a_disk(int tid) {
    char text[64];
    int fd = hd_proc_open_own_task(tid, "syscall", O_RDONLY | O_CLOEXEC);
    long n = fd < 0 ? fd : hd_os.read(fd, text, sizeof text - 1);
    hd_os_close(fd);
    text[n > 0 ? n : 0] = '\0';
    return n > 0 && text[0] >= '0' && text[0] <= '9' && strtol(text, NULL, 10) != SYS_futex;
}

/* True: a disk still blocks the worker after DISK_WAIT_NS. */
static bool worker_is_stuck(void) {
    const struct hd_run *run = hd_run_current();
    int tid = run != NULL ? hd_thread_id_tid(atomic_load(&run->channel.threads.worker)) : 0;
    uint64_t until_ns = hd_os_now_ns() + DISK_WAIT_NS;
    while (tid != 0 && is_at_a_disk(tid)) {
        if (hd_os_now_ns() >= until_ns) {
            return true;
        }
        hd_os_nap(DISK_POLL_NS);
    }
    return false;
}

/* Ends our threads, and blocks the caller until they have ended, but for at most 5 s. A worker that a disk
 * blocks for longer keeps its old rights until the disk answers, and then ends. */
static void end_threads(void) {
    if (!hd_attach_end_threads()) {
        hd_attach_end_watch(HD_UNWATCHED_RIGHTS);
    }
    hd_attach_wait_for_abandoned();
}

void hd_attach_before_id_change(void) {
    int saved = errno;
    atomic_fetch_add(&hd_follow_id_changes, 1);
    int tid = hd_attach_own_thread();
    if (tid != 0 && !has_the_same_rights(tid)) {
        end_threads();
    } else if (tid != 0 && program_has_one_thread() && (hd_attach_has_abandoned() || worker_is_stuck()) &&
               !hd_attach_end_threads()) {
        hd_attach_end_watch(HD_UNWATCHED_RIGHTS);
    }
    errno = saved;
}

/* ---- rights that a thread gives up ------------------------------------------------------------------------
 */

static void fill(struct hd_credentials *c, const struct ids *ids) {
    for (unsigned i = 0; i < 3; i++) {
        c->user[i] = ids->user[i];
        c->group[i] = ids->group[i];
    }
}

/* True: a thread of ours has a right that the caller lacks. Uses system calls only and not the slower /proc,
 * since programs change capabilities and ids again and again. */
static bool have_more(const struct hd_run *run) {
    int threads[] = {hd_thread_id_tid(atomic_load(&run->channel.threads.monitor)),
                     hd_thread_id_tid(atomic_load(&run->channel.threads.worker))};
    struct hd_credentials own = {.groups = ours.other_groups}, its = {0};
    struct ids ids = own_ids();
    fill(&own, &ids);
    fill(&its, &ours.ids);
    bool more = !read_capabilities(0, own.capabilities);
    /* a thread id of 0: this thread of ours has not stored its id yet */
    for (unsigned i = 0; i < 2 && !more; i++) {
        more = threads[i] == 0 || !read_capabilities(threads[i], its.capabilities) ||
               hd_credentials_exceed(&its, &own);
    }
    return more;
}

/* True on the main thread, while threads of ours exist. Our threads have inherited the main thread's rights,
 * so only a right that the main thread gives up concerns them. */
static bool on_main_thread(void) {
    return hd_attach_own_thread() != 0 && hd_wait_table_self != NULL && !hd_wait_table_self->named;
}

/* Makes our threads give up the rights that the main thread has given up, or ends them if they cannot.
 * `checked_by_calls`: have_more() can compare this kind of right, so our threads keep theirs unless
 * have_more() returns true. */
static void follow(bool checked_by_calls) {
    struct hd_run *run = hd_run_current();
    if (run == NULL || ((!checked_by_calls || have_more(run)) && !hd_follow_all(run))) {
        end_threads();
    }
}

void hd_attach_gave_up(enum hd_given_up what, unsigned number) {
    int saved = errno;
    if (!on_main_thread() && (what != HD_GAVE_UP_ROOT || hd_attach_own_thread() == 0)) {
        return;
    }
    switch (what) {
    case HD_GAVE_UP_CAPABILITIES:
        follow(true);
        break;
    case HD_GAVE_UP_GROUPS:
        ours.other_groups = true;
        follow(true);
        break;
    case HD_GAVE_UP_BOUNDED:
        if (number < 64 && (ours.not_bounded & 1ULL << number) == 0) {
            ours.not_bounded |= 1ULL << number;
            follow(false);
        }
        break;
    case HD_GAVE_UP_AMBIENT:
    case HD_GAVE_UP_ROOT:
        follow(false);
        break;
    case HD_GAVE_UP_NEW_PRIVS:
        if (!ours.no_new_privs) {
            ours.no_new_privs = true;
            follow(false);
        }
        break;
    case HD_GAVE_UP_SECUREBITS:
        if (hd_own_prctl(PR_GET_SECUREBITS, 0, 0, 0, 0) != hd_attach_state.securebits) {
            end_threads();
        }
        break;
    case HD_GAVE_UP_PLACE:
    default:
        end_threads();
        break;
    }
    errno = saved;
}

/* ---- the root --------------------------------------------------------------------------------------- */

bool hd_attach_has_same_root(void) {
    static uint64_t root[2];
    return hd_credentials_have_root(root, false);
}
