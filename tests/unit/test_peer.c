/* SPDX-License-Identifier: MIT
 *
 * Who is at the other end of a socket: lines of the kernel's tables, and sockets of this process.
 */
#include <fcntl.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "cause/linux/peer.h"
#include "os/os.h"

#define TCP(remote, inode) \
    "   1: 0100007F:D3DC " remote " 01 00000000:00000000 00:00000000 00000000  1000        0 " inode " 1 0"

static void displays_are_known_by_name(void **state) {
    (void)state;
    assert_true(hd_peer_is_display("X0") && hd_peer_is_display("@/tmp/.X11-unix/X12"));
    assert_true(hd_peer_is_display("wayland-0"));
    assert_false(hd_peer_is_display("X") || hd_peer_is_display("") || hd_peer_is_display("dbus-1") ||
                 hd_peer_is_display("Xorg.log") || hd_peer_is_display("my-wayland-0"));
}

/* The tables are written as a little-endian machine shows them. */
static void lines_are_read(void **state) {
    static const struct {
        const char *line, *peer; /* NULL: none */
    } cases[] = {
        {TCP("0100007F:1538", "4711"), "127.0.0.1:5432"},
        {TCP("FEFF020A:FFFF", "4711"), "10.2.255.254:65535"},
        {TCP("00000000000000000000000001000000:0050", "4711"), "[::1]:80"},
        {TCP("0000000000000000FFFF00000100007F:0050", "4711"), "127.0.0.1:80"},
        {TCP("B80D0120000000000000000000000000:01BB", "4711"), "[2001:db8::]:443"},
        {TCP("B80D0120010000000000000002000A00:01BB", "4711"), "[2001:db8:0:1::a:2]:443"},
        {TCP("01000100010001000100010001000100:01BB", "4711"), "[1:1:1:1:1:1:1:1]:443"},
        {TCP("00000000:0000", "4711"), NULL}, /* listens */
        {TCP("0100007F:1538", "47110"), NULL},
        {TCP("0100007F:1538", "471"), NULL},
        {TCP("0100007F:1538", "0"), NULL},
        {TCP("01007F:1538", "4711"), NULL},
        {TCP("0100007F", "4711"), NULL},
        {"  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode",
         NULL},
        {"", NULL},
        {"   1: 0100007F:D3DC", NULL},
    };
    (void)state;
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char peer[64] = "";
        bool found = hd_peer_parse(cases[i].line, 4711, peer, sizeof peer);
        assert_int_equal(cases[i].peer != NULL, found);
        assert_string_equal(cases[i].peer != NULL ? cases[i].peer : "", peer);
    }
}

static void a_long_peer_is_cut(void **state) {
    char peer[8];
    (void)state;
    assert_true(hd_peer_parse(TCP("FEFF020A:FFFF", "4711"), 4711, peer, sizeof peer));
    assert_string_equal("10.2.25", peer);
}

static uint64_t inode_of(int fd) {
    struct stat st;
    assert_int_equal(0, fstat(fd, &st));
    return st.st_ino;
}

static long (*read_at_once)(int fd, void *buf, size_t n);

/* As on a machine with more to do than it can. */
static long read_late(int fd, void *buf, size_t n) {
    usleep(30000);
    return read_at_once(fd, buf, n);
}

static void a_connections_peer_is_found(void **state) {
    int proc = open("/proc/self", O_RDONLY | O_DIRECTORY);
    int listener = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof at;
    char expected[32], peer[64] = "";
    (void)state;
    assert_int_equal(0, bind(listener, (struct sockaddr *)&at, sizeof at));
    assert_int_equal(0, listen(listener, 1));
    assert_int_equal(0, getsockname(listener, (struct sockaddr *)&at, &n));
    assert_false(hd_peer_of_inet(proc, getpid(), inode_of(client), peer, sizeof peer));
    assert_int_equal(0, connect(client, (struct sockaddr *)&at, sizeof at));
    snprintf(expected, sizeof expected, "127.0.0.1:%u", ntohs(at.sin_port));
    assert_true(hd_peer_of_inet(proc, getpid(), inode_of(client), peer, sizeof peer));
    assert_string_equal(expected, peer);
    read_at_once = hd_os.read;
    hd_os.read = read_late;
    assert_true(hd_peer_of_inet(proc, getpid(), inode_of(client), peer, sizeof peer));
    hd_os.read = read_at_once;
    assert_false(hd_peer_of_inet(proc, getpid(), inode_of(listener), peer, sizeof peer));
    close(client);
    close(listener);
    close(proc);
}

/* A client of a server that is bound to `at`: what is found for it, "" for nothing. */
static void local_peer(const struct sockaddr_un *at, size_t bytes, char *peer, size_t size) {
    int listener = socket(AF_UNIX, SOCK_STREAM, 0), client = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(0, bind(listener, (const struct sockaddr *)at, (socklen_t)bytes));
    assert_int_equal(0, listen(listener, 1));
    assert_int_equal(0, connect(client, (const struct sockaddr *)at, (socklen_t)bytes));
    int server = accept(listener, NULL, NULL);
    assert_true(server >= 0);
    if (!hd_peer_of_unix(inode_of(client), peer, size)) {
        peer[0] = '\0';
    }
    close(server);
    close(client);
    close(listener);
}

static void a_local_sockets_peer_is_found(void **state) {
    struct sockaddr_un at = {.sun_family = AF_UNIX}, abstract = {.sun_family = AF_UNIX};
    char folder[] = "/tmp/hangdog-peer-XXXXXX", peer[64], expected[64];
    int pair[2];
    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(at.sun_path, sizeof at.sun_path, "%s/the server", folder);
    local_peer(&at, sizeof at, peer, sizeof peer);
    unlink(at.sun_path);
    rmdir(folder);
    if (peer[0] == '\0') {
        print_message("this kernel does not tell the peers of local sockets (unix_diag)\n");
        skip();
    }
    assert_string_equal("the server", peer);
    int n = snprintf(expected, sizeof expected, "@hangdog-peer-%d", getpid());
    memcpy(abstract.sun_path + 1, expected + 1, (size_t)n - 1);
    local_peer(&abstract, offsetof(struct sockaddr_un, sun_path) + (size_t)n, peer, sizeof peer);
    assert_string_equal(expected, peer);
    assert_int_equal(0, socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
    assert_false(hd_peer_of_unix(inode_of(pair[0]), peer, sizeof peer)); /* nobody has a name there */
    close(pair[0]);
    close(pair[1]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(displays_are_known_by_name),
        cmocka_unit_test(lines_are_read),
        cmocka_unit_test(a_long_peer_is_cut),
        cmocka_unit_test(a_connections_peer_is_found),
        cmocka_unit_test(a_local_sockets_peer_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
