/* SPDX-License-Identifier: MIT
 *
 * The place where a process runs: host, systemd unit, container. Ordinary code, any thread. A user who owns
 * a part of the cgroup tree can choose the names in it: they are data, and no proof.
 */
#ifndef CLI_OUTSIDE_ORIGIN_H
#define CLI_OUTSIDE_ORIGIN_H

#include <stdbool.h>
#include <sys/types.h>

#include "record/origin.h"

/* Reads the place of process `pid`. It costs two to five small files. `with_host`: false leaves out
 * the host's name, for reports without paths. */
void outside_origin(pid_t pid, bool with_host, struct hd_origin *out);

/* The parts of it, for tests. */

/* A container's part of the cgroup tree: the folder below /sys/fs/cgroup. Empty: there is none. */
struct origin_folder {
    char path[1024];
};
/* `text`: /proc/PID/cgroup. Sets unit, container_id and pod; for LXC container_name, too. */
void origin_of_cgroup(const char *text, struct hd_origin *out, struct origin_folder *folder);
/* `text`: /proc/PID/mountinfo, of a process whose cgroup file has no path. Sets
 * container_id or pod. */
void origin_of_mounts(const char *text, struct hd_origin *out);

#endif
