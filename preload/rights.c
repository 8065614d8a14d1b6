/* SPDX-License-Identifier: MIT
 *
 * libc makes every thread change its ids, and ends the program when not all of them come to the same.
 * Capabilities and securebits are each thread's own: where the caller's are others than those that ours were
 * born with, ours must be gone before. Ordinary code, on any thread.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>

#include "analysis/text.h"
#include "os/os.h"
#include "process.h"

#define STATUS_BYTES 4096

/* Ids, groups and capabilities as the kernel has them for one thread: lines of its status. */
static bool read_rights(int tid, char *text) {
    char path[64];
    struct hd_text t;
    hd_text_init(&t, path, sizeof path);
    hd_text_str(&t, "/proc/self/task/");
    hd_text_i64(&t, tid);
    hd_text_str(&t, "/status");
    int fd = hd_os.open_at(AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
    long n = fd < 0 ? fd : hd_os.read(fd, text, STATUS_BYTES - 1);
    if (fd >= 0) {
        hd_os.close(fd);
    }
    text[n > 0 ? n : 0] = '\0';
    return n > 0;
}

static bool same_line(const char *a, const char *b, const char *key) {
    a = strstr(a, key);
    b = strstr(b, key);
    size_t n = a != NULL ? strcspn(a + 1, "\n") : 0;
    return a != NULL && b != NULL && strncmp(a, b, n + 2) == 0;
}

/* Whether a thread of ours, born with the rights of the program's first, would come to the same as the
 * caller. */
static bool has_the_same_rights(int tid) {
    static const char *const keys[] = {"\nUid:", "\nGid:", "\nGroups:", "\nCapPrm:", "\nCapEff:"};
    char own[STATUS_BYTES], ours[STATUS_BYTES];
    if (!read_rights(hd_os.get_tid(), own) || !read_rights(tid, ours)) {
        return false;
    }
    for (unsigned i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        if (!same_line(own, ours, keys[i])) {
            return false;
        }
    }
    return prctl(PR_GET_SECUREBITS, 0, 0, 0, 0) == hd_process_securebits();
}

void hd_process_changes_ids(void) {
    int saved = errno;
    int tid = hd_process_own_thread();
    if (tid != 0 && !has_the_same_rights(tid) && !hd_process_alone()) {
        hd_process_ends_watch(HD_UNWATCHED_ALONE);
    }
    errno = saved;
}
