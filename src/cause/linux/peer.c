/* SPDX-License-Identifier: MIT
 *
 * A call of getpeername would need a copy of the program's descriptor. That copy would keep the socket open
 * after the program closes it. So these functions query the kernel's tables of sockets instead.
 */
#include "cause/linux/peer.h"

#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <string.h>
#include <sys/socket.h>

#include "base/text.h"
#include "cause/address.h"
#include "os/linux/proc_files.h"
#include "os/linux/proc_lines.h"
#include "os/os.h"

/* The longest time of a search in a table of sockets. The search needs a limit, because a server may have
 * many connections. The limit is in CPU time, because on a busy machine elapsed time does not show how much
 * work was done. */
#define TABLE_CPU_NS_MAX (20 * HD_NS_PER_MS)

/* ---- tables such as /proc/net/tcp: "  1: 0100007F:D3DC 0100007F:1538 01 … inode …" ---------------- */

static const char *skip_fields(const char *p, unsigned n) {
    for (; *p == ' '; p++) {
    }
    for (; n > 0; n--) {
        for (; *p != ' ' && *p != '\0'; p++) {
        }
        for (; *p == ' '; p++) {
        }
    }
    return p;
}

static const char *parse_hex(const char *p, unsigned digits, uint32_t *out) {
    uint32_t v = 0;
    for (; digits > 0 && *p != '\0'; digits--, p++) {
        unsigned digit = *p >= 'A' ? (unsigned)(*p - 'A') + 10 : (unsigned)(*p - '0');
        v = v << 4 | (digit & 15);
    }
    *out = v;
    return p;
}

bool hd_peer_parse(const char *line, uint64_t inode, char *out, size_t size) {
    uint64_t found;
    hd_text_take_number(skip_fields(line, 9), &found);
    if (found != inode || inode == 0) {
        return false;
    }
    const char *remote = skip_fields(line, 2);
    const char *colon = memchr(remote, ':', strnlen(remote, 33));
    size_t words = colon == NULL ? 0 : (size_t)(colon - remote) / 8;
    if (words != 1 && words != 4) {
        return false;
    }
    /* The line shows four bytes of an address as one number, in the byte order of this CPU. So the bytes of
     * the parsed numbers in memory are the address in network byte order. */
    uint32_t address[4] = {0}, port;
    for (size_t i = 0; i < words; i++) {
        parse_hex(remote + 8 * i, 8, &address[i]);
    }
    parse_hex(colon + 1, 4, &port);
    if (port == 0) {
        return false;
    }
    struct hd_text t;
    hd_text_init(&t, out, size);
    hd_address_add(&t, (const uint8_t *)address, words == 4, port);
    return true;
}

/* Searches the open table `fd`, such as /proc/net/tcp, for the socket with inode `inode`. Gives up once the
 * calling thread's CPU time is `until_cpu_ns`. */
static bool search_table(int fd, uint64_t inode, uint64_t until_cpu_ns, char *out, size_t size) {
    struct hd_proc_lines lines;
    unsigned count = 0;
    hd_proc_lines_init(&lines, fd);
    for (const char *line; (line = hd_proc_lines_next(&lines)) != NULL;) {
        if (hd_peer_parse(line, inode, out, size)) {
            return true;
        }
        if (++count % 16 == 0 && hd_os_thread_cpu_ns() >= until_cpu_ns) {
            return false;
        }
    }
    return false;
}

bool hd_peer_of_inet(int proc_fd, int tid, uint64_t inode, char *out, size_t size) {
    static const char tables[][16] = {"net/tcp", "net/tcp6", "net/udp", "net/udp6"};
    uint64_t until_cpu_ns = hd_os_thread_cpu_ns() + TABLE_CPU_NS_MAX;
    bool found = false;
    for (unsigned i = 0; i < sizeof tables / sizeof tables[0] && !found; i++) {
        char path[48];
        hd_proc_task_path(path, sizeof path, tid, tables[i]);
        int fd = hd_os_open(proc_fd, path);
        if (fd >= 0) {
            found = search_table(fd, inode, until_cpu_ns, out, size);
            hd_os_close(fd);
        }
    }
    return found;
}

/* ---- local sockets: the kernel's socket monitor ------------------------------------------------ */

struct unix_reply {
    uint32_t peer; /* inode of the socket at the other end; 0: none */
    size_t name_bytes;
    char name[112]; /* the name that the socket is bound to; an abstract name begins with a NUL */
};

static void read_attributes(const uint8_t *p, const uint8_t *end, struct unix_reply *out) {
    struct nlattr head;
    while ((size_t)(end - p) >= sizeof head) {
        memcpy(&head, p, sizeof head);
        if (head.nla_len < sizeof head || head.nla_len > (size_t)(end - p)) {
            return;
        }
        size_t bytes = head.nla_len - sizeof head;
        if (head.nla_type == UNIX_DIAG_PEER && bytes == sizeof out->peer) {
            memcpy(&out->peer, p + sizeof head, bytes);
        } else if (head.nla_type == UNIX_DIAG_NAME && bytes <= sizeof out->name) {
            memcpy(out->name, p + sizeof head, bytes);
            out->name_bytes = bytes;
        }
        size_t step = (head.nla_len + 3u) & ~3u;
        p += step < (size_t)(end - p) ? step : (size_t)(end - p);
    }
}

static bool query(int fd, uint64_t inode, struct unix_reply *out) {
    struct {
        struct nlmsghdr head;
        struct unix_diag_req request;
    } request_message = {.head = {.nlmsg_len = sizeof request_message,
                                  .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                                  .nlmsg_flags = NLM_F_REQUEST},
                         .request = {.sdiag_family = AF_UNIX,
                                     .udiag_states = UINT32_MAX,
                                     .udiag_ino = (uint32_t)inode,
                                     .udiag_show = UDIAG_SHOW_NAME | UDIAG_SHOW_PEER,
                                     .udiag_cookie = {UINT32_MAX, UINT32_MAX}}};
    uint8_t reply[1024];
    struct nlmsghdr head;
    const size_t before = sizeof head + sizeof(struct unix_diag_msg);
    memset(out, 0, sizeof *out);
    if (hd_os.write(fd, &request_message, sizeof request_message) != (long)sizeof request_message) {
        return false;
    }
    long n = hd_os.read(fd, reply, sizeof reply);
    if (n < (long)before) {
        return false;
    }
    memcpy(&head, reply, sizeof head);
    if (head.nlmsg_type != SOCK_DIAG_BY_FAMILY || head.nlmsg_len > (size_t)n || head.nlmsg_len < before) {
        return false;
    }
    read_attributes(reply + before, reply + head.nlmsg_len, out);
    return true;
}

bool hd_peer_is_display(const char *peer) {
    char name[16]; /* the base name, such as "X0" of "@/tmp/.X11-unix/X0" */
    hd_text_base_name(name, sizeof name, peer);
    return (name[0] == 'X' && name[1] >= '0' && name[1] <= '9') || strncmp(name, "wayland-", 8) == 0;
}

uint32_t hd_peer_inode_of_unix(uint64_t inode) {
    struct unix_reply own;
    int fd = hd_os.socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_SOCK_DIAG);
    if (fd < 0) {
        return 0;
    }
    bool found = query(fd, inode, &own);
    hd_os_close(fd);
    return found ? own.peer : 0;
}

/* Of the two ends of a connection, only the server's end has a name: the name that the server's socket is
 * bound to. */
bool hd_peer_of_unix(uint64_t inode, char *out, size_t size) {
    struct unix_reply own, peer;
    int fd = hd_os.socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_SOCK_DIAG);
    if (fd < 0) {
        return false;
    }
    bool found = query(fd, inode, &own) &&
                 (out == NULL || (own.peer != 0 && query(fd, own.peer, &peer) && peer.name_bytes > 1));
    hd_os_close(fd);
    if (!found || out == NULL) {
        return found;
    }
    bool abstract = peer.name[0] == '\0';
    size_t from = abstract;
    for (size_t i = 0; !abstract && i < peer.name_bytes && peer.name[i] != '\0'; i++) {
        from = peer.name[i] == '/' ? i + 1 : from;
    }
    struct hd_text t;
    hd_text_init(&t, out, size);
    hd_text_str(&t, abstract ? "@" : "");
    hd_text_mem(&t, peer.name + from, strnlen(peer.name + from, peer.name_bytes - from));
    return true;
}
