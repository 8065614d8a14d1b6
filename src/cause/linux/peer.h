/* SPDX-License-Identifier: MIT
 *
 * The process at the other end of a socket, by the socket's inode: the socket is not touched. Worker; no
 * allocation.
 */
#ifndef HD_PEER_H
#define HD_PEER_H

#include "base/types.h"

/* Writes the peer of a network socket, as the network namespace of thread `tid` shows it: "192.0.2.1:5432",
 * "[2001:db8::1]:443". False: the socket has no peer, or the kernel does not show it. `proc_fd`: the
 * process's folder in /proc. */
bool hd_peer_of_inet(int proc_fd, int tid, uint64_t inode, char *out, size_t size);
/* Writes the peer of a local socket: the base name of the peer's path, or an abstract name after an @. With
 * `out` NULL: whether the inode is a local socket. */
bool hd_peer_of_unix(uint64_t inode, char *out, size_t size);

/* The name of a local socket is that of a display server, X or Wayland. */
bool hd_peer_is_display(const char *peer);

/* The inode of the local socket that this one is connected to; 0: none, or this one is not a local socket. */
uint32_t hd_peer_inode_of_unix(uint64_t inode);

/* Reads a line of /proc/net/tcp, tcp6, udp or udp6. Pure. False: the line is another socket's, or has no
 * peer. */
bool hd_peer_parse(const char *line, uint64_t inode, char *out, size_t size);

#endif
