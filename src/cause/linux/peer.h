/* SPDX-License-Identifier: MIT
 *
 * Finds the peer of a socket, which is the process at the other end, by the socket's inode. No system call
 * uses the socket itself. Runs on the worker thread; allocates nothing.
 */
#ifndef HD_PEER_H
#define HD_PEER_H

#include "base/types.h"

/* Writes the peer of a network socket, as the network namespace of thread `tid` shows it: "192.0.2.1:5432",
 * "[2001:db8::1]:443". False: the socket has no peer, or the kernel does not show it. `proc_fd`: the
 * process's folder in /proc. */
bool hd_peer_of_inet(int proc_fd, int tid, uint64_t inode, char *out, size_t size);
/* Writes the name of a local socket's peer: the base name of the peer's path, or an @ and the abstract name.
 * False: there is no peer with a name. With `out` NULL, only returns whether the inode is that of a local
 * socket. */
bool hd_peer_of_unix(uint64_t inode, char *out, size_t size);

/* True: `peer` is the name of a display server's local socket (X or Wayland). */
bool hd_peer_is_display(const char *peer);

/* Returns the inode of the local socket that socket `inode` is connected to. 0: none, or `inode` is not
 * that of a local socket. */
uint32_t hd_peer_inode_of_unix(uint64_t inode);

/* Writes the peer of socket `inode` from a line of /proc/net/tcp, tcp6, udp or udp6. Pure. False: the line
 * is that of another socket, or the socket has no peer. */
bool hd_peer_parse(const char *line, uint64_t inode, char *out, size_t size);

#endif
