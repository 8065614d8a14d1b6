/* SPDX-License-Identifier: MIT
 *
 * Worker: who is at the other end of a socket, without touching the socket. No allocation.
 */
#ifndef HD_PEER_H
#define HD_PEER_H

#include "base/types.h"

/* Writes the peer of a socket by its inode, as the network namespace of thread tid shows it:
 * "192.0.2.1:5432",
 * "[2001:db8::1]:443", the base name of a local socket's path, or its abstract name after an @. False: it has
 * none, or the kernel does not tell. `proc_fd`: /proc/self. */
bool hd_peer_of_inet(int proc_fd, int tid, uint64_t inode, char *out, size_t size);
/* With no `out`: is it a local socket at all? */
bool hd_peer_of_unix(uint64_t inode, char *out, size_t size);

/* The name of a local socket is one of a display's server: X's or Wayland's. */
bool hd_peer_is_display(const char *peer);

/* The inode of the local socket that it is connected to; 0: none, or no local socket. */
uint32_t hd_peer_inode_of_unix(uint64_t inode);

/* A line of /proc/net/tcp, udp and their kin: pure. False when it is not that socket's, or has no peer. */
bool hd_peer_parse(const char *line, uint64_t inode, char *out, size_t size);

#endif
