/* SPDX-License-Identifier: MIT */
#include "os/credentials.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/prctl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/hash.h"
#include "base/text.h"
#include "os/linux/proc_files.h"
#include "os/linux/syscall.h"
#include "os/os.h"

#define BIT(capability) (1ULL << (capability))
#define GROUPS_BYTES 3000
#define STATUS_BYTES_MAX \
    (1u << 20) /* the most bytes of the file to read, enough for the kernel's maximum of 65,536 groups */

static uint64_t value_of(const char *p, unsigned base) {
    uint64_t value = 0;
    for (unsigned digit; (digit = *p >= 'a' ? (unsigned)(*p - 'a') + 10 : (unsigned)(*p - '0')) < base; p++) {
        value = value * base + digit;
    }
    return value;
}

/* Returns the text after the key and one blank. If an old kernel writes no line with the key, returns an
 * empty text, from which callers read the number 0. */
static const char *line_of(const char *text, const char *key) {
    const char *line = hd_proc_find_line(text, key);
    return line != NULL && *line != '\0' ? line + 1 : "";
}

static void take_ids(const char *line, uint64_t ids[3]) {
    for (unsigned i = 0; i < 3; i++) {
        line = hd_text_take_number(line, &ids[i]);
    }
}

/* Reads ids and groups from the first piece of the `status` file. The hash covers only the first 3,000
 * characters of the groups. The piece may have more, but how many depends on the length of the thread's
 * name. */
static void take_first(const char *text, struct hd_credentials *out) {
    take_ids(line_of(text, "Uid:"), out->user);
    take_ids(line_of(text, "Gid:"), out->group);
    const char *groups = line_of(text, "Groups:");
    size_t n = 0;
    while (n < GROUPS_BYTES && groups[n] != '\0' && groups[n] != '\n') {
        n++;
    }
    out->groups = hd_hash(0, groups, n);
}

/* Reads capabilities, no_new_privs and seccomp from the last piece of the `status` file. */
static void take_last(const char *text, struct hd_credentials *out) {
    static const char keys[] =
        "CapInh:\0CapPrm:\0CapEff:\0CapBnd:\0CapAmb:\0NoNewPrivs:\0Seccomp:\0Seccomp_filters:\0";
    const char *key = keys;
    for (unsigned i = 0; i < HD_CREDENTIALS_NUMBERS; i++, key += strlen(key) + 1) {
        out->numbers[i] = value_of(line_of(text, key), i < HD_CAPS_SETS ? 16 : 10);
    }
}

void hd_credentials_open(int *main_fd, int *own_fd) {
    *main_fd = hd_os_open(AT_FDCWD, "/proc/self/status");
    *own_fd = hd_os_open(AT_FDCWD, "/proc/thread-self/status");
}

/* Reads the `status` file in pieces, since its line of groups may be long, and parses only the first and the
 * last piece. Pieces overlap by half a buffer, so the last piece has at least half a buffer. That is enough
 * for all lines after the groups. */
int hd_credentials_read(int status_fd, struct hd_credentials *out) {
    char text[4096 + 1];
    long n = 4096;
    *out = (struct hd_credentials){0};
    for (uint64_t at = 0; n == 4096 && at < STATUS_BYTES_MAX; at += 2048) {
        n = status_fd < 0 ? -ENOENT : hd_os.pread(status_fd, text, 4096, at);
        if (n <= 0) {
            return n < 0 ? (int)n : -ESRCH;
        }
        text[n] = '\0';
        if (at == 0) {
            take_first(text, out);
        }
    }
    take_last(text, out);
    return hd_proc_find_line(text, "CapPrm:") != NULL ? 0 : -EPROTO;
}

/* True: `own` has a user or group id that is not in `other`. */
static bool has_further_id(const uint64_t own[3], const uint64_t other[3]) {
    bool further = false;
    for (unsigned i = 0; i < 3; i++) {
        further |= own[i] != other[0] && own[i] != other[1] && own[i] != other[2];
    }
    return further;
}

bool hd_credentials_exceed(const struct hd_credentials *own, const struct hd_credentials *other) {
    uint64_t permitted = other->capabilities[HD_CAPS_PERMITTED];
    bool more = own->no_new_privs < other->no_new_privs || (own->seccomp == 0 && other->seccomp != 0) ||
                own->filters < other->filters;
    for (unsigned i = 0; i < HD_CAPS_SETS; i++) {
        more |= (own->capabilities[i] & ~other->capabilities[i]) != 0;
    }
    more |= (permitted & BIT(CAP_SETUID)) == 0 && has_further_id(own->user, other->user);
    return more || ((permitted & BIT(CAP_SETGID)) == 0 &&
                    (has_further_id(own->group, other->group) || own->groups != other->groups));
}

/* Calls prctl once for each capability in `set`. The arguments of prctl are (option, command, capability), or
 * (option, capability) if `command` is 0. */
static void prctl_each(uint64_t set, long option, long command) {
    for (unsigned i = 0; set != 0; i++, set >>= 1) {
        if ((set & 1) != 0) {
            (void)hd_syscall6(SYS_prctl, option, command != 0 ? command : i, command != 0 ? i : 0, 0, 0, 0);
        }
    }
}

void hd_credentials_lower(const struct hd_credentials *own, const struct hd_credentials *other) {
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3];
    uint64_t remaining[HD_CAPS_SETS];
    for (unsigned i = 0; i < HD_CAPS_SETS; i++) {
        remaining[i] = own->capabilities[i] & other->capabilities[i];
    }
    /* The prctl calls need CAP_SETPCAP. So they come before capset, which may remove CAP_SETPCAP. */
    prctl_each(own->capabilities[HD_CAPS_BOUNDING] & ~remaining[HD_CAPS_BOUNDING], PR_CAPBSET_DROP, 0);
    prctl_each(own->capabilities[HD_CAPS_AMBIENT] & ~remaining[HD_CAPS_AMBIENT], PR_CAP_AMBIENT,
               PR_CAP_AMBIENT_LOWER);
    for (unsigned i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
        caps[i] = (struct __user_cap_data_struct){(uint32_t)(remaining[HD_CAPS_EFFECTIVE] >> (32 * i)),
                                                  (uint32_t)(remaining[HD_CAPS_PERMITTED] >> (32 * i)),
                                                  (uint32_t)(remaining[HD_CAPS_INHERITABLE] >> (32 * i))};
    }
    (void)hd_syscall2(SYS_capset, &header, caps);
    if (other->no_new_privs != 0) {
        (void)hd_syscall6(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, 0);
    }
}

bool hd_credentials_have_root(uint64_t root[2], bool store) {
    struct stat st;
    if (hd_os.stat_at(AT_FDCWD, "/", &st, 0) != 0) {
        return false;
    }
    bool first = root[1] == 0, same = first || (root[0] == st.st_dev && root[1] == st.st_ino);
    root[0] = first || store ? st.st_dev : root[0];
    root[1] = first || store ? st.st_ino : root[1];
    return same;
}
