/* SPDX-License-Identifier: MIT
 *
 * The parts of the report's writer. Only writer.c and its parts include this file.
 */
#ifndef HD_WRITER_H
#define HD_WRITER_H

#include "report/json.h"
#include "report/report.h"

#define HD_WRITER_NONE UINT16_MAX
#define HD_WRITER_HASH 4096u /* a power of two, more than HD_TREE_POOL_NODES */

struct hd_report_scratch {
    struct hd_json json;
    uint32_t modules_used;
    uint16_t module_place[HD_MODULES_MAX];    /* in the document, HD_WRITER_NONE: not in it */
    uint16_t module_order[HD_MODULES_MAX];    /* the other way round */
    uint32_t path[HD_TREE_DEPTH_MAX];         /* tree nodes of the hot stack, outermost first */
    uint16_t stack_place[HD_TREE_POOL_NODES]; /* by leaf: index into stacks */
    uint16_t frame_place[HD_TREE_POOL_NODES]; /* by node: index into the tree's frames */
    uint16_t node_place[HD_TREE_POOL_NODES];  /* by node: index into the tree's nodes */
    uint16_t function[HD_WRITER_HASH];        /* by hash of the function: a node that shows it */
    char buffer[8192];
};

/* Writes one frame of a "frames" array. `share` < 0: left out. */
void hd_writer_frame(const struct hd_report *r, struct hd_report_scratch *w, const struct hd_frame *f,
                     double share);
/* The path of a code file for the report: whole, or the base name in a report without paths. */
const char *hd_writer_path(const struct hd_report *r, const char *path);
/* Writes "stop", "cut" (when not 0) and "capture" of a stack. */
void hd_writer_walk(struct hd_json *j, uint8_t stop, uint32_t cut, uint8_t way);
/* Writes "syscall", unless the thread was in no call. */
void hd_writer_task(struct hd_json *j, const struct hd_task_chain *task);
void hd_writer_syscall(struct hd_json *j, int32_t nr);
/* Writes "error": why a thread has no stack. */
void hd_writer_error(struct hd_json *j, int error);
void hd_writer_hot_stack(const struct hd_report *r, struct hd_report_scratch *w);
void hd_writer_samples(const struct hd_report *r, struct hd_report_scratch *w);

/* A number of the document. A table of numbers is less code than a call for each. */
struct hd_writer_number {
    uint16_t at; /* offset in the struct */
    bool always; /* false: a 0 is left out */
    char name[21];
};
void hd_writer_numbers(struct hd_json *j, const void *of, const struct hd_writer_number *number,
                       size_t count);
#define HD_WRITER_NUMBERS(j, of, table) hd_writer_numbers(j, of, table, sizeof(table) / sizeof(table)[0])
/* Writes "watch" of a watch from outside. */
void hd_writer_watch(const struct hd_report *r, struct hd_json *j);
/* Writes a text of a fixed size, which need not end with a NUL. An empty text is left out. */
void hd_writer_field(struct hd_json *j, const char *name, const char *s, size_t size);
void hd_writer_host(const struct hd_host *h, struct hd_json *j);
void hd_writer_session(const struct hd_session *s, struct hd_json *j);

#endif
