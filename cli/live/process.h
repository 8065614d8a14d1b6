/* SPDX-License-Identifier: MIT
 *
 * Another process, opened to be read: its folder of /proc and its memory. Nothing is sent to it. Ordinary
 * code.
 */
#ifndef CLI_LIVE_PROCESS_H
#define CLI_LIVE_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/base/error.h"

/* For whom a process is opened, in errors: "cannot dump process 12; try: sudo hangdog dump 12". */
struct live_command {
    const char *name, *verb;
};

struct live_process {
    const struct live_command *command;
    int pid;     /* as /proc has it */
    int own_pid; /* as the process knows itself, in its namespace */
    int proc_fd, mem_fd;
    uid_t uid;
    char name[64];       /* for a person */
    char executable[64]; /* base name of the program's file */
    uint64_t started_wall_ns;
};

/* Opens the process, or that of a thread with this number. 0; -1: it cannot be read, and why. */
int live_process_open(int pid, const struct live_command *command, struct live_process *p,
                      struct problem *why);
void live_process_close(struct live_process *p);

/* Whether it still is there. */
bool live_process_lives(const struct live_process *p);

/* "redis-server": the process's name for a person, from its `comm` and its program's file. */
void live_process_name(int pid, char *name, size_t size);

/* "server.js": the program's name in reports. That of the script that it runs, else its first word's, else
 * its file's. */
void live_process_app(const struct live_process *p, char *name, size_t size);

/* Its number. 0: none, or several, and why. */
int process_find(const char *text, const struct live_command *command, struct problem *why);

/* How a process has a name: it is that program, or an interpreter that runs a script of that name. */
enum process_match {
    PROCESS_IS_OTHER,
    PROCESS_IS_PROGRAM,
    PROCESS_RUNS_SCRIPT,
};
enum process_match process_match(int pid, const char *name);

/* How processes have the name. If a program has it, scripts do not count. PROCESS_IS_OTHER: no process has
 * it, and why says so. */
enum process_match process_find_kind(const char *name, const struct live_command *command,
                                     struct problem *why);

/* A thread of the kernel: it has no program. */
bool process_is_of_kernel(int pid);

/* True: the text is a process's number, not a name. */
bool process_is_number(const char *text);

#endif
