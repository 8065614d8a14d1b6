/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/credentials.h"
#include "os/os.h"

#define HEAD \
    "Name:\tUid:\nUmask:\t0022\nState:\tS (sleeping)\nUid:\t1000\t1001\t1002\t1003\nGid:\t5\t6\t7\t8\n"
#define CAPS                                                                                        \
    "NStgid:\t7\nVmPeak:\t    8000 kB\nSigPnd:\t0000000000000000\nCapInh:\t0000000000000001\n"      \
    "CapPrm:\t000001ffffffffff\nCapEff:\t0000000000000abc\nCapBnd:\t000000000000000f\nCapAmb:\t0\n" \
    "NoNewPrivs:\t1\nSeccomp:\t2\nSeccomp_filters:\t3\nSpeculation_Store_Bypass:\tvulnerable\n"

static int read_text(const char *text, size_t n, struct hd_credentials *out) {
    int fd = memfd_create("status", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, n), n);
    int rc = hd_credentials_read(fd, out);
    close(fd);
    return rc;
}

static void reads_ids_capabilities_and_filters(void **state) {
    (void)state;
    static const char text[] = HEAD "Groups:\t1 2 \n" CAPS;
    struct hd_credentials c;
    assert_int_equal(read_text(text, sizeof text - 1, &c), 0);
    assert_int_equal(c.user[0], 1000);
    assert_int_equal(c.user[2], 1002);
    assert_int_equal(c.group[1], 6);
    assert_int_equal(c.capabilities[HD_CAPS_INHERITABLE], 1);
    assert_int_equal(c.capabilities[HD_CAPS_PERMITTED], 0x1ffffffffff);
    assert_int_equal(c.capabilities[HD_CAPS_EFFECTIVE], 0xabc);
    assert_int_equal(c.capabilities[HD_CAPS_BOUNDING], 15);
    assert_int_equal(c.capabilities[HD_CAPS_AMBIENT], 0);
    assert_int_equal(c.no_new_privs, 1);
    assert_int_equal(c.seccomp, 2);
    assert_int_equal(c.filters, 3);
}

/* As many as a thread may have: the file comes in many pieces. Of the groups the first 4 KiB count. */
static void a_long_line_of_groups_is_one_number(void **state) {
    (void)state;
    static char text[800000];
    struct hd_credentials one, other;
    size_t used = (size_t)sprintf(text, HEAD "Groups:\t");
    size_t first = used;
    for (unsigned i = 0; i < 65536; i++) {
        used += (size_t)sprintf(text + used, "%u ", 1000000 + i);
    }
    used += (size_t)sprintf(text + used, "\n" CAPS);
    assert_int_equal(read_text(text, used, &one), 0);
    assert_int_equal(one.capabilities[HD_CAPS_EFFECTIVE], 0xabc);
    assert_int_equal(one.filters, 3);
    memmove(text + sizeof "Name:\tlonger " - 1, text + sizeof "Name:\t" - 1, used - sizeof "Name:\t" + 1);
    memcpy(text, "Name:\tlonger ", sizeof "Name:\tlonger " - 1);
    used += sizeof "longer " - 1;
    first += sizeof "longer " - 1;
    assert_int_equal(read_text(text, used, &other), 0);
    assert_memory_equal(&one, &other, sizeof one); /* another thread of the same process */
    text[first] = '2';
    assert_int_equal(read_text(text, used, &other), 0);
    assert_int_not_equal(one.groups, other.groups);
    other.groups = one.groups;
    assert_memory_equal(&one, &other, sizeof one);
}

static void text_without_these_lines_is_refused(void **state) {
    (void)state;
    struct hd_credentials c;
    assert_int_equal(read_text("", 0, &c), -ESRCH); /* the thread has ended */
    assert_int_equal(read_text(HEAD, sizeof HEAD - 1, &c), -EPROTO);
    assert_true(hd_credentials_read(-1, &c) < 0);
}

static void exceeds_by_what_the_other_cannot_take_back(void **state) {
    (void)state;
    const struct hd_credentials root = {.capabilities = {0, 0xff, 0xff, 0xff, 0}}, none = {0};
    struct hd_credentials own = root, other = root;
    assert_false(hd_credentials_exceed(&own, &other));
    assert_true(hd_credentials_exceed(&root, &none));
    assert_false(hd_credentials_exceed(&none, &root));
    other.user[1] = 1000; /* it may change its ids */
    assert_false(hd_credentials_exceed(&own, &other));
    own.capabilities[HD_CAPS_PERMITTED] = own.capabilities[HD_CAPS_EFFECTIVE] = 0;
    other.capabilities[HD_CAPS_PERMITTED] = 0;
    assert_false(hd_credentials_exceed(&own, &other)); /* its real id is the one that ours have */
    other.user[0] = other.user[2] = 1000;
    assert_true(hd_credentials_exceed(&own, &other));
    memcpy(own.user, other.user, sizeof own.user);
    assert_false(hd_credentials_exceed(&own, &other));
    other.groups = 1;
    assert_true(hd_credentials_exceed(&own, &other));
    own.groups = 1;
    other.no_new_privs = 1;
    assert_true(hd_credentials_exceed(&own, &other));
    own.no_new_privs = 1;
    other.seccomp = 2;
    assert_true(hd_credentials_exceed(&own, &other));
    own.seccomp = 2;
    other.filters = 1;
    assert_true(hd_credentials_exceed(&own, &other));
}

/* In a child, which has fewer then. */
static int come_down(void) {
    int fd = open("/proc/thread-self/status", O_RDONLY | O_CLOEXEC);
    struct hd_credentials own, less;
    if (fd < 0 || hd_credentials_read(fd, &own) != 0) {
        return 1;
    }
    less = own;
    less.no_new_privs = 1;
    less.capabilities[HD_CAPS_EFFECTIVE] &= 1U << CAP_KILL;
    less.capabilities[HD_CAPS_PERMITTED] &= 1U << CAP_KILL | 1U << CAP_CHOWN;
    if ((own.capabilities[HD_CAPS_EFFECTIVE] & 1U << CAP_SETPCAP) != 0) {
        less.capabilities[HD_CAPS_BOUNDING] &= ~(1ULL << CAP_SYS_MODULE);
    }
    hd_credentials_lower(&own, &less);
    return hd_credentials_read(fd, &own) != 0            ? 2
           : memcmp(&own, &less, sizeof own) != 0        ? 3
           : prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1 ? 4
                                                         : 0;
}

static void a_thread_comes_down_to_what_another_has(void **state) {
    (void)state;
    pid_t child = fork();
    if (child == 0) {
        _exit(come_down());
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_ids_capabilities_and_filters),
        cmocka_unit_test(a_long_line_of_groups_is_one_number),
        cmocka_unit_test(text_without_these_lines_is_refused),
        cmocka_unit_test(exceeds_by_what_the_other_cannot_take_back),
        cmocka_unit_test(a_thread_comes_down_to_what_another_has),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
