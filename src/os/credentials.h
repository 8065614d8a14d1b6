/* SPDX-License-Identifier: MIT
 *
 * Reads a thread's credentials from its `status` file in /proc. Drops from the calling thread the
 * capabilities that another thread lacks. Any thread; async-signal-safe; no allocation, no lock.
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
    uint64_t user[3], group[3]; /* the real, the effective and the saved id */
    uint64_t groups;            /* hash of the first 3,000 characters of the list of supplementary groups */
    union {
        uint64_t numbers[HD_CREDENTIALS_NUMBERS];
        struct {
            uint64_t capabilities[HD_CAPS_SETS];
            uint64_t no_new_privs;
            uint64_t seccomp; /* mode */
            /* Number of the thread's seccomp filters; 0 if the kernel does not say how many. */
            uint64_t filters;
        };
    };
};

/* Opens the `status` files of the main thread and of the calling thread. The caller closes both descriptors.
 * A negative descriptor: the file cannot be opened. */
void hd_credentials_open(int *main_fd, int *own_fd);

/* Reads an open `status` file. Returns 0, -ESRCH (the thread has ended), -EPROTO (the file is no `status`
 * file), or the error of the read. After an error *out is undefined. */
int hd_credentials_read(int status_fd, struct hd_credentials *out);

/* True: `own` has a right that `other` lacks and cannot regain. Ids and groups do not count if `other` has
 * the capability to change them. One case is strict: an effective capability of `own` counts even if `other`
 * has it as a permitted one, and so could regain it. */
bool hd_credentials_exceed(const struct hd_credentials *own, const struct hd_credentials *other);

/* Drops from the calling thread the capabilities that `other` lacks. `own` has the calling thread's
 * credentials. Sets no_new_privs if `other` has it. Does not change ids. */
void hd_credentials_lower(const struct hd_credentials *own, const struct hd_credentials *other);

/* True: `root` has the device and inode of the root folder /, or has zeros. If it has zeros, or if `store` is
 * true, the function stores the present device and inode in `root`. False also if / cannot be read. */
bool hd_credentials_have_root(uint64_t root[2], bool store);

#endif
