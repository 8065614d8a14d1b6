/* SPDX-License-Identifier: MIT
 *
 * The processes of the host, as the agent knows them: found by scans of /proc, and looked at when they have
 * run for a while. Ordinary code.
 */
#ifndef AGENT_PROCESSES_H
#define AGENT_PROCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum process_is {
    PROCESS_NEW,     /* no loop was seen; it is looked at again */
    PROCESS_WATCHED, /* the watcher has it */
    PROCESS_IGNORED, /* a rule says so, or it is watched already by another Hangdog */
    PROCESS_SHED,    /* left out for the budget */
    PROCESS_NEVER    /* of the kernel, our own, or it cannot be read */
};

struct host_process {
    pid_t pid;
    unsigned looks;
    enum process_is is;
    uint64_t next_ns;    /* of the next look; of one that is shed, the next trial */
    uint64_t started_ns; /* as /proc/PID/stat has it: another one is another process */
    void *watch;         /* of a watched one: the agent's own data */
};

struct processes {
    struct host_process *process; /* by pid */
    size_t count, size;
    size_t cursor; /* of the looks, so that each gets its turn */
};

/* Lists /proc. Adds new processes, and plans their first look one second from now. Removes ended processes.
 * `gone`: called before one with `watch` is removed. 0 or a negative errno value. */
int processes_scan(struct processes *p, uint64_t now_ns, void (*gone)(void *arg, struct host_process *of),
                   void *arg);
void processes_free(struct processes *p);

struct host_process *processes_find(struct processes *p, pid_t pid);

/* Returns a process that the agent is to look at now. NULL: no look is due. Plans the next look at it: 10 s
 * after its first one, then each minute, later each five minutes. Detects that a new process has the number.
 */
struct host_process *processes_due(struct processes *p, uint64_t now_ns);

/* Looks at all again from now on, as after a change of the rules. */
void processes_look_again(struct processes *p, uint64_t now_ns);

/* The real one, as live_process_open says it. */
uid_t process_user(pid_t pid);

/* A thread of it waits now in a call that a loop may wait in. */
bool process_waits(pid_t pid);

#endif
