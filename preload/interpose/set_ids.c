/* SPDX-License-Identifier: MIT
 * Interposed functions that change the ids of all threads. While our threads run, libc's single-thread flag
 * stays set (os/os.h), so that system calls cost no more than without Hangdog. Then libc would change the ids
 * of the calling thread only, and a thread of ours that stays root would be a security hole. Around these
 * functions the flag is cleared. Keeps errno.
 */
#include <dlfcn.h>
#include <errno.h>
#include <grp.h>
#include <unistd.h>

#include "os/os.h"
#include "preload/attach/abandoned.h"
#include "preload/attach/attach.h"
#include "preload/attach/attach_state.h"
#include "preload/attach/credentials.h"
#include "preload/interpose/real.h"

#define EXPORT __attribute__((visibility("default")))

static struct {
    int (*setuid)(uid_t);
    int (*setgid)(gid_t);
    int (*seteuid)(uid_t);
    int (*setegid)(gid_t);
    int (*setreuid)(uid_t, uid_t);
    int (*setregid)(gid_t, gid_t);
    int (*setresuid)(uid_t, uid_t, uid_t);
    int (*setresgid)(gid_t, gid_t, gid_t);
    int (*setgroups)(size_t, const gid_t *);
    int (*initgroups)(const char *, gid_t);
    int (*chroot)(const char *);
} real;

void hd_interpose_resolve_ids(void) {
    _Static_assert(sizeof real == 11 * sizeof(void *), "a name for each");
    hd_interpose_look_up_all(&real, "setuid\0setgid\0seteuid\0setegid\0setreuid\0setregid\0"
                                    "setresuid\0setresgid\0setgroups\0initgroups\0chroot\0");
    /* libc's flag, and the copy in a program that reads the flag */
    hd_os_single_threaded.flag[0] = hd_interpose_look_up("__libc_single_threaded");
    int saved = errno;
    hd_os_single_threaded.flag[1] = dlsym(RTLD_DEFAULT, "__libc_single_threaded");
    errno = saved;
}

/* True: libc's flag is set although threads of ours may run. False in a forked child, which has none. False
 * with an abandoned worker, for which libc would have to wait. False under a seccomp filter, where the watch
 * has ended. */
static bool hides_threads(void) {
    const char *flag = hd_os_single_threaded.flag[0];
    return flag != NULL && *flag != 0 && !hd_attach_is_filtered() && hd_attach_is_own() &&
           !hd_attach_has_abandoned();
}

static bool begin(void) {
    if (real.setuid == NULL) {
        hd_interpose_resolve_ids();
    }
    hd_attach_before_rights_drop();
    hd_attach_before_id_change();
    bool hidden = hides_threads();
    if (hidden) {
        hd_os_set_single_threaded(false);
    }
    return hidden;
}

static void end(bool hide) {
    hd_attach_after_id_change();
    if (hide) {
        hd_os_set_single_threaded(true);
    }
}

/* `makes_none` false: the call may have started threads (a module of the name service), so the flag stays
 * cleared. To hide a thread of the program from libc would destroy the program's heap. */
#define FOR_ALL_THREADS(call, makes_none) \
    ({                                    \
        bool hidden = begin();            \
        int result = real.call;           \
        end(hidden && (makes_none));      \
        result;                           \
    })

EXPORT int setuid(uid_t id) {
    return FOR_ALL_THREADS(setuid(id), true);
}

EXPORT int setgid(gid_t id) {
    return FOR_ALL_THREADS(setgid(id), true);
}

EXPORT int seteuid(uid_t id) {
    return FOR_ALL_THREADS(seteuid(id), true);
}

EXPORT int setegid(gid_t id) {
    return FOR_ALL_THREADS(setegid(id), true);
}

EXPORT int setreuid(uid_t id, uid_t effective) {
    return FOR_ALL_THREADS(setreuid(id, effective), true);
}

EXPORT int setregid(gid_t id, gid_t effective) {
    return FOR_ALL_THREADS(setregid(id, effective), true);
}

EXPORT int setresuid(uid_t id, uid_t effective, uid_t saved) {
    return FOR_ALL_THREADS(setresuid(id, effective, saved), true);
}

EXPORT int setresgid(gid_t id, gid_t effective, gid_t saved) {
    return FOR_ALL_THREADS(setresgid(id, effective, saved), true);
}

EXPORT int setgroups(size_t count, const gid_t *groups) {
    return FOR_ALL_THREADS(setgroups(count, groups), true);
}

EXPORT int initgroups(const char *user, gid_t group) {
    return FOR_ALL_THREADS(initgroups(user, group), false);
}

EXPORT int chroot(const char *path) {
    if (real.chroot == NULL) {
        hd_interpose_resolve_ids();
    }
    hd_attach_before_rights_drop();
    int result = real.chroot(path);
    if (result == 0) {
        hd_attach_gave_up(HD_GAVE_UP_ROOT, 0);
    }
    return result;
}
