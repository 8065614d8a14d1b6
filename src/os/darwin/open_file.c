/* SPDX-License-Identifier: MIT
 *
 * macOS has one query for each kind of descriptor, which fails for the other kinds. On iOS these queries are
 * not public, so the functions for files and sockets have to answer there.
 */
#include "os/darwin/open_file.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <TargetConditionals.h>

#include "os/os.h"

static void store_path(struct hd_open_file *out, const char *path, size_t size) {
    size_t length = strnlen(path, size), kept = length;
    kept = kept < sizeof out->path ? kept : sizeof out->path - 1;
    memcpy(out->path, path + length - kept, kept);
    out->path[kept] = '\0';
}

static enum hd_open_kind kind_of_mode(uint32_t mode) {
    return S_ISFIFO(mode) ? HD_OPEN_FIFO : S_ISCHR(mode) || S_ISBLK(mode) ? HD_OPEN_DEVICE : HD_OPEN_FILE;
}

#if TARGET_OS_OSX
#include <libproc.h>

static bool read_vnode(int pid, int fd, struct hd_open_file *out) {
    struct vnode_fdinfowithpath info;
    if (proc_pidfdinfo(pid, fd, PROC_PIDFDVNODEPATHINFO, &info, sizeof info) < (int)sizeof info) {
        return false;
    }
    out->kind = kind_of_mode(info.pvip.vip_vi.vi_stat.vst_mode);
    store_path(out, info.pvip.vip_path, sizeof info.pvip.vip_path);
    return true;
}

static void store_inet(struct hd_open_file *out, const struct in_sockinfo *in) {
    out->kind = HD_OPEN_INET;
    out->v6 = (in->insi_vflag & INI_IPV4) == 0;
    out->port = ntohs((uint16_t)in->insi_fport);
    if (out->v6) {
        memcpy(out->address, &in->insi_faddr.ina_6, 16);
    } else {
        memcpy(out->address, &in->insi_faddr.ina_46.i46a_addr4, 4);
    }
}

static bool read_socket(int pid, int fd, struct hd_open_file *out) {
    struct socket_fdinfo info;
    if (proc_pidfdinfo(pid, fd, PROC_PIDFDSOCKETINFO, &info, sizeof info) < (int)sizeof info) {
        return false;
    }
    const struct socket_info *s = &info.psi;
    if (s->soi_kind == SOCKINFO_TCP) {
        store_inet(out, &s->soi_proto.pri_tcp.tcpsi_ini);
    } else if (s->soi_kind == SOCKINFO_IN) {
        store_inet(out, &s->soi_proto.pri_in);
    } else if (s->soi_kind == SOCKINFO_UN) {
        const struct sockaddr_un *peer = &s->soi_proto.pri_un.unsi_caddr.ua_sun;
        out->kind = HD_OPEN_LOCAL;
        store_path(out, peer->sun_path, sizeof peer->sun_path);
    }
    return true;
}

void hd_open_file_read(int fd, struct hd_open_file *out) {
    int pid = hd_os.get_pid();
    struct pipe_fdinfo pipe;
    struct kqueue_fdinfo queue;
    *out = (struct hd_open_file){.kind = HD_OPEN_UNKNOWN};
    if (read_vnode(pid, fd, out) || read_socket(pid, fd, out)) {
        return;
    }
    if (proc_pidfdinfo(pid, fd, PROC_PIDFDPIPEINFO, &pipe, sizeof pipe) >= (int)sizeof pipe) {
        out->kind = HD_OPEN_PIPE;
    } else if (proc_pidfdinfo(pid, fd, PROC_PIDFDKQUEUEINFO, &queue, sizeof queue) >= (int)sizeof queue) {
        out->kind = HD_OPEN_KQUEUE;
    }
}

#else
#include <fcntl.h>
#include <sys/param.h>

static bool read_socket(int fd, struct hd_open_file *out) {
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
        struct sockaddr_un local;
    } peer = {.any.sa_family = AF_UNSPEC};
    socklen_t bytes = sizeof peer;
    bool connected = getpeername(fd, &peer.any, &bytes) == 0;
    bytes = sizeof peer;
    if (!connected && getsockname(fd, &peer.any, &bytes) != 0) {
        return false;
    }
    out->v6 = peer.any.sa_family == AF_INET6;
    if (peer.any.sa_family == AF_UNIX) {
        out->kind = HD_OPEN_LOCAL;
        store_path(out, peer.local.sun_path, connected ? sizeof peer.local.sun_path : 0);
    } else if (out->v6 || peer.any.sa_family == AF_INET) {
        out->kind = HD_OPEN_INET;
        out->port = !connected ? 0 : ntohs(out->v6 ? peer.v6.sin6_port : peer.v4.sin_port);
        memcpy(out->address, out->v6 ? (void *)&peer.v6.sin6_addr : (void *)&peer.v4.sin_addr,
               out->v6 ? 16 : 4);
    }
    return true;
}

void hd_open_file_read(int fd, struct hd_open_file *out) {
    char path[MAXPATHLEN];
    struct stat st;
    *out = (struct hd_open_file){.kind = HD_OPEN_UNKNOWN};
    if (read_socket(fd, out) || fstat(fd, &st) != 0) {
        return;
    }
    if (fcntl(fd, F_GETPATH, path) == 0) {
        out->kind = kind_of_mode(st.st_mode);
        store_path(out, path, sizeof path);
    } else if (S_ISFIFO(st.st_mode)) {
        out->kind = HD_OPEN_PIPE;
    } else if (st.st_mode == 0) {
        out->kind = HD_OPEN_KQUEUE;
    }
}
#endif
