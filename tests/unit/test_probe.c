/* SPDX-License-Identifier: MIT
 *
 * What a blocked call waits for, by descriptors and children of this process: the calls are made up.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "cause/linux/peer.h"
#include "evidence.h"
#include "os/linux/proc_files.h"
#include "os/linux/proc_stat.h"
#include "os/os.h"

/* ---- sockets -------------------------------------------------------------------------------- */

static long no_xattr(const char *path, const char *name, void *value, size_t n) {
    (void)path, (void)name, (void)value, (void)n;
    return -ENOENT;
}

static void a_local_socket_is_one_also_without_proc_in_its_place(void **state) {
    (void)state;
    pid_t child = begin_child();
    int inet = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct stat local;
    assert_int_equal(fstat(pair[0], &local), 0);
    for (int with = 1; with >= 0; with--) {
        if (!with && !hd_peer_of_unix(local.st_ino, NULL, 0)) {
            print_message("this kernel does not say which sockets are local (unix_diag)\n");
            break;
        }
        hd_os.get_xattr = with ? real.get_xattr : no_xattr;
        assert_string_equal(cause_blocked(SYS_recvfrom, (uint64_t)pair[0], 0, 0), "child");
        assert_int_equal(hd_evidence_fd_kind(&probe), HD_FD_UNIX);
        assert_string_equal(cause_blocked(SYS_recvfrom, (uint64_t)inet, 0, 0), "network");
        assert_int_equal(hd_evidence_fd_kind(&probe), HD_FD_INET);
    }
    close(inet);
    end_child(child);
}

static void a_socket_to_the_kernel_is_none_of_the_networks(void **state) {
    (void)state;
    int netlink = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0);
    int udp = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    assert_true(netlink >= 0 && udp >= 0);
    assert_string_equal(cause_blocked(SYS_read, (uint64_t)netlink, 0, 0), "unknown");
    assert_string_equal(cause_blocked(SYS_read, (uint64_t)udp, 0, 0), "network");
    close(netlink);
    close(udp);
}

static const char *protocol;

static long give_protocol(const char *path, const char *name, void *value, size_t n) {
    (void)path, (void)name;
    size_t length = strlen(protocol);
    assert_true(length <= n);
    memcpy(value, protocol, length);
    return (long)length;
}

/* Not every machine lets us make all of them. */
static void reads_the_protocol_of_a_network_peer(void **state) {
    static const char *const of_network[] = {"TCPv6", "UDPLITEv6", "PING", "PINGv6", "AF_VSOCK", "SCTPv6"};
    static const char *const others[] = {"NETLINK", "PACKET", "ALG", "AF_ALG"};
    struct pollfd one = {.fd = pair[0], .events = POLLIN};
    (void)state;
    hd_os.get_xattr = give_protocol;
    for (size_t i = 0; i < sizeof of_network / sizeof of_network[0]; i++) {
        protocol = of_network[i];
        assert_string_equal(cause_blocked(SYS_ppoll, address_of(&one), 1, 0), "network");
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        protocol = others[i];
        assert_string_equal(cause_blocked(SYS_ppoll, address_of(&one), 1, 0), "unknown");
    }
}

/* ---- a call between two descriptors --------------------------------------------------------- */

static void of_two_descriptors_the_file_is_waited_for_without_regard_to_signals(void **state) {
    (void)state;
    uint64_t file = (uint64_t)open("/proc/self/exe", O_RDONLY | O_CLOEXEC), socket = (uint64_t)pair[0];
    int pipes[2];
    assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
    assert_string_equal(cause_of(HD_RUN_UNINTERRUPTIBLE, SYS_sendfile, socket, file, 0), "disk");
    assert_string_equal(probe.evidence.name, "unit-probe");
    assert_int_equal(probe.evidence.descriptor.inode, 0);
    assert_string_equal(cause_blocked(SYS_sendfile, socket, file, 0), "output");
    assert_string_equal(probe.evidence.name, "");
    assert_true(probe.evidence.descriptor.inode != 0);
    cause_blocked(SYS_splice, file, 0, (uint64_t)pipes[1]);
    assert_int_equal(hd_evidence_fd_kind(&probe), HD_FD_PIPE);
    assert_string_equal(cause_of(HD_RUN_UNINTERRUPTIBLE, SYS_splice, (uint64_t)pipes[0], 0, file), "disk");
    assert_string_equal(probe.evidence.name, "unit-probe");
    assert_string_equal(cause_of(HD_RUN_UNINTERRUPTIBLE, SYS_write, socket, 0, 0), "page-fault");
    assert_string_equal(cause_of(HD_RUN_UNINTERRUPTIBLE, SYS_sendto, socket, 0, 0), "page-fault");
    assert_int_equal(probe.evidence.descriptor.inode, 0);
    assert_string_equal(probe.peer.name, "");
    assert_string_equal(cause_of(HD_RUN_UNINTERRUPTIBLE, SYS_connect, socket, 0, 0), "network");
    close(pipes[0]);
    close(pipes[1]);
    close((int)file);
}

/* ---- names ---------------------------------------------------------------------------------- */

static const char *link_shown;

static long give_link(int dir, const char *path, char *buf, size_t n) {
    (void)dir, (void)path;
    size_t length = strlen(link_shown);
    length = length < n ? length : n;
    memcpy(buf, link_shown, length); // NOLINT(bugprone-not-null-terminated-result): as readlink has it
    return (long)length;
}

static void distinguishes_terminals_serial_ports_files_and_memory(void **state) {
    static const struct {
        const char *link;
        enum hd_fd_kind kind;
    } cases[] = {
        {"/dev/tty", HD_FD_TTY},
        {"/dev/tty1", HD_FD_TTY},
        {"/dev/pts/12", HD_FD_TTY},
        {"/dev/console", HD_FD_TTY},
        {"/dev/ttyS0", HD_FD_OTHER},
        {"/dev/ttyUSB0", HD_FD_OTHER},
        {"/dev/ttyACM1", HD_FD_OTHER},
        {"/dev/null", HD_FD_OTHER},
        {"/dmabuf:", HD_FD_OTHER},
        {"/memfd:pool (deleted)", HD_FD_OTHER},
        {"/SYSV00000000", HD_FD_OTHER},
        {"/srv/memfd:", HD_FD_FILE},
        {"anon_inode:[eventpoll]", HD_FD_EPOLL},
    };
    (void)state;
    hd_os.readlink_at = give_link;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        link_shown = cases[i].link;
        cause_blocked(SYS_ioctl, (uint64_t)pair[0], 0, 0);
        assert_int_equal(hd_evidence_fd_kind(&probe), cases[i].kind);
    }
}

/* A path of this many bytes to the file "name.db". */
static const char *deep_path(size_t length) {
    static char path[PATH_MAX];
    static const char name[] = "/name.db";
    memset(path, 'd', length);
    for (size_t i = 0; i < length; i += 100) {
        path[i] = '/';
    }
    memcpy(path + length - strlen(name), name, sizeof name);
    return path;
}

static void a_file_in_a_deep_folder_is_called_by_its_own_name(void **state) {
    static const size_t lengths[] = {254, 255, 256, 300, 511, 512, 513, 2000, PATH_MAX - 1};
    (void)state;
    uint64_t folder = (uint64_t)open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        const char *path = deep_path(lengths[i]);
        assert_string_equal(cause_blocked(SYS_openat, folder, address_of(path), 0), "disk");
        assert_string_equal(probe.evidence.name, "name.db");
        hd_os.readlink_at = give_link;
        link_shown = path;
        assert_string_equal(cause_blocked(SYS_fsync, folder, 0, 0), "disk");
        assert_string_equal(probe.evidence.name, "name.db");
        hd_os.readlink_at = real.readlink_at;
    }
    close((int)folder);
}

static void a_file_whose_path_cannot_be_read_is_not_its_folder(void **state) {
    (void)state;
    uint64_t folder = (uint64_t)open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_string_equal(cause_blocked(SYS_newfstatat, folder, address_of(""), 0), "disk");
    assert_string_equal(probe.evidence.name, "tmp");
    assert_string_equal(cause_blocked(SYS_utimensat, folder, 0, 0), "disk"); /* futimens */
    assert_string_equal(probe.evidence.name, "tmp");
    hd_os.pread = no_pread;
    assert_string_equal(cause_blocked(SYS_openat, folder, address_of("name.db"), 0), "disk");
    assert_int_equal(hd_evidence_fd_kind(&probe), HD_FD_FILE);
    assert_string_equal(probe.evidence.name, "");
    close((int)folder);
}

static void a_link_is_called_by_its_name_and_not_by_its_text(void **state) {
    (void)state;
#ifdef SYS_symlink
    uint64_t text = address_of("user@host.4711"), name = address_of("/home/user/.#letter");
    assert_string_equal(cause_blocked(SYS_symlink, text, name, 0), "disk");
    assert_string_equal(probe.evidence.name, ".#letter");
#endif
}

/* ---- what is opened and is no file ------------------------------------------------------------ */

static char fifo[64];
static _Atomic int opener;

static void *open_fifo(void *with_child) {
    pid_t child = with_child != NULL ? begin_child() : 0;
    opener = (int)syscall(SYS_gettid);
    int fd = open(fifo, O_RDONLY | O_CLOEXEC);
    if (child != 0) {
        end_child(child);
    }
    close(fd);
    return NULL;
}

/* Why another thread waits that opens it, until the other end is opened here. NULL: the kernel does not tell
 * where a thread waits. */
static const char *cause_in_open(bool with_child) {
    pthread_t other;
    char place[32] = "";
    opener = 0;
    assert_int_equal(pthread_create(&other, NULL, open_fifo, with_child ? fifo : NULL), 0);
    for (unsigned tries = 0; strcmp(place, "wait_for_partner") != 0 && tries < 10000; tries++) {
        usleep(1000);
        hd_proc_read_task(ctx->proc_fd, opener, "wchan", place, sizeof place);
    }
    caller = opener;
    const char *cause = cause_blocked(SYS_openat, (uint64_t)AT_FDCWD, address_of(fifo), O_RDONLY);
    int end = open(fifo, O_WRONLY | O_CLOEXEC);
    assert_int_equal(pthread_join(other, NULL), 0);
    close(end);
    return strcmp(place, "wait_for_partner") == 0 ? cause : NULL;
}

static void who_opens_a_named_pipe_waits_for_its_other_end(void **state) {
    char folder[] = "/tmp/hangdog-fifo-XXXXXX";
    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(fifo, sizeof fifo, "%s/commands", folder);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    const char *childless = cause_in_open(false),
               *with_child = childless != NULL ? cause_in_open(true) : NULL;
    unlink(fifo);
    rmdir(folder);
    if (childless == NULL || with_child == NULL) {
        skip();
    }
    assert_string_equal(childless, "unknown");
    assert_string_equal(with_child, "child");
    assert_int_equal(hd_evidence_fd_kind(&probe), HD_FD_PIPE);
    assert_string_equal(probe.evidence.name, "commands");
}

static void who_opens_a_device_waits_for_no_disk_that_a_signal_ends(void **state) {
    static const struct {
        const char *path, *name, *blocked;
    } cases[] = {{"/dev/ttyS0", "ttyS0", "unknown"},
                 {"/dev/pts/3", "3", "unknown"},
                 {"/dev/snd/pcmC0D0p", "pcmC0D0p", "unknown"},
                 {"/srv/dev/ttyS0", "ttyS0", "disk"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint64_t at = address_of(cases[i].path);
        assert_string_equal(cause_blocked(SYS_openat, (uint64_t)AT_FDCWD, at, 0), cases[i].blocked);
        assert_string_equal(probe.evidence.name, cases[i].name);
        assert_string_equal(cause_of(HD_RUN_UNINTERRUPTIBLE, SYS_openat, (uint64_t)AT_FDCWD, at, 0), "disk");
    }
}

/* ---- sets ----------------------------------------------------------------------------------- */

static void only_a_set_that_is_known_to_be_empty_is_a_sleep(void **state) {
    (void)state;
    struct pollfd one = {.fd = pair[0]}, none[20];
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    fd_set bits;
    FD_ZERO(&bits);
    FD_SET(pair[0], &bits);
    for (unsigned i = 0; i < 20; i++) {
        none[i].fd = -1;
    }
    assert_string_equal(cause_in_poll(NULL, 0), "sleep");
    assert_string_equal(cause_in_poll(none, 16), "sleep");
    assert_string_equal(cause_in_poll(none, 20), "unknown");
    assert_string_equal(cause_in_poll(&one, 1), "network");
    assert_string_equal(cause_blocked(SYS_epoll_pwait, (uint64_t)epoll, 0, 0), "sleep");
    assert_string_equal(cause_blocked(SYS_pselect6, 0, 0, 0), "sleep");
    uint64_t nfds = (uint64_t)pair[0] + 1;
    assert_string_equal(cause_blocked(SYS_pselect6, nfds, (uint64_t)(uintptr_t)&bits, 0), "network");
    close(epoll);
    assert_string_equal(cause_blocked(SYS_epoll_pwait, (uint64_t)epoll, 0, 0), "unknown");
    hd_os.pread = no_pread;
    assert_string_equal(cause_in_poll(&one, 1), "unknown");
    assert_string_equal(cause_blocked(SYS_pselect6, nfds, (uint64_t)(uintptr_t)&bits, 0), "unknown");
}

/* ---- pages ---------------------------------------------------------------------------------- */

static long give_stat(int fd, void *buf, size_t n) {
    static const char stat[] = "4 (a) b) R 4 5 6 7 8 9 10 11 1234 13 14 15 16 17 18 19 20 21 22 23\n";
    (void)fd;
    assert_true(sizeof stat <= n);
    memcpy(buf, stat, sizeof stat - 1);
    return sizeof stat - 1;
}

static void pages_that_were_waited_for_are_counted(void **state) {
    (void)state;
    hd_os.read = give_stat;
    assert_int_equal(hd_proc_stat_major_faults(ctx->proc_fd, (int)syscall(SYS_gettid)), 1234);
    assert_int_equal(hd_proc_stat_major_faults(ctx->proc_fd, 0), 0); /* none such */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(of_two_descriptors_the_file_is_waited_for_without_regard_to_signals,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(distinguishes_terminals_serial_ports_files_and_memory, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_file_in_a_deep_folder_is_called_by_its_own_name, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_file_whose_path_cannot_be_read_is_not_its_folder, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_link_is_called_by_its_name_and_not_by_its_text, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_opens_a_named_pipe_waits_for_its_other_end, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_opens_a_device_waits_for_no_disk_that_a_signal_ends, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(only_a_set_that_is_known_to_be_empty_is_a_sleep, set_up, tear_down),
        cmocka_unit_test_setup_teardown(pages_that_were_waited_for_are_counted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_local_socket_is_one_also_without_proc_in_its_place, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(reads_the_protocol_of_a_network_peer, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_socket_to_the_kernel_is_none_of_the_networks, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
