/* SPDX-License-Identifier: MIT
 *
 * The rights of a thread, as its `status` file has them, and giving up what another thread has given up. Any
 * thread; async-signal-safe, no allocation, no lock.
 */
#ifndef HD_CREDENTIALS_H
#define HD_CREDENTIALS_H

#include "base/types.h"

enum hd_capability_set {
    HD_CAPS_INHERITABLE,
    HD_CAPS_PERMITTED,
    HD_CAPS_EFFECTIVE,
    HD_CAPS_BOUNDING,
    HD_CAPS_AMBIENT,
    HD_CAPS_SETS,
};

#define HD_CREDENTIALS_NUMBERS (HD_CAPS_SETS + 3)

struct hd_credentials {
    uint64_t user[3], group[3]; /* real, effective, saved */
    uint64_t groups;            /* a hash of the others, of some hundred at most */
    union {
        uint64_t numbers[HD_CREDENTIALS_NUMBERS];
        struct {
            uint64_t capabilities[HD_CAPS_SETS];
            uint64_t no_new_privs;
            uint64_t seccomp, filters; /* its mode; how many, where the kernel counts them */
        };
    };
};

/* Opens the files of the main thread and of the calling one; less than zero: it cannot be opened. */
void hd_credentials_open(int *main_fd, int *own_fd);

/* From a kept descriptor of such a file. 0, -ESRCH, -EPROTO, or what reading said; then *out is not to be
 * used. */
int hd_credentials_read(int status_fd, struct hd_credentials *out);

/* `own` has a right that the thread of `other` has not, and cannot take back by itself. An id is no such
 * right where that thread may change its ids; a capability is, also one that is only not effective. */
bool hd_credentials_exceed(const struct hd_credentials *own, const struct hd_credentials *other);

/* The calling thread, whose are `own`, gives up what it can of what `other` has not: capabilities, and new
 * privileges by exec. */
void hd_credentials_lower(const struct hd_credentials *own, const struct hd_credentials *other);

/* Whether / is still the folder of `root`, its device and inode; zeros: it is, and is stored. With `store`
 * what it is now is stored, too. */
bool hd_credentials_have_root(uint64_t root[2], bool store);

#endif
