/* SPDX-License-Identifier: MIT
 *
 * The place where a program runs: its host, systemd unit and container. Each text ends with a NUL. An empty
 * text: not known, or there is none.
 */
#ifndef HD_ORIGIN_H
#define HD_ORIGIN_H

#define HD_ORIGIN_ID 72 /* a container's id has 64 digits */
#define HD_ORIGIN_NAME 256

struct hd_origin {
    char host[HD_ORIGIN_ID];
    char unit[HD_ORIGIN_NAME];
    char container_id[HD_ORIGIN_ID], container_name[HD_ORIGIN_NAME], image[HD_ORIGIN_NAME];
    char pod[HD_ORIGIN_ID]; /* the uid of a Kubernetes pod */
};

#endif
