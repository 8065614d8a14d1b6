/* SPDX-License-Identifier: MIT
 *
 * The process that looks up names. Debug information takes memory without bound, and where there is none
 * libdw ends its process, or the kernel does: that must not be the one that has the program's exit status.
 * Ordinary code.
 */
#ifndef HD_NAMES_PROCESS_H
#define HD_NAMES_PROCESS_H

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define NAMES_WHY_BYTES 128

struct names_process {
    pid_t pid; /* 0: none was made yet; -1: it could not be */
    int talk;
    int error;         /* why not */
    atomic_bool gone;  /* it has ended, and was waited for */
    atomic_int status; /* as waitpid gives it, then */
};

/* Makes one, where there is none or it has ended: it calls `serve`, which is to answer until names_next says
 * that there is no more. It ends with the thread that made it, at the latest. */
void names_start(struct names_process *n, void (*serve)(void *), void *argument);

/* In it: the next question; false: there is none. And the answer. */
bool names_next(void *question, size_t bytes);
void names_answer(const char *text, size_t bytes);

/* What it answers; caller frees. NULL, and why: it has ended, or there is no memory for the answer. Waits. */
char *names_ask(struct names_process *n, const void *question, size_t bytes, size_t *text_bytes,
                char why[NAMES_WHY_BYTES]);

/* Another thread may have asked: this child, which has ended, is it, and is waited for. */
bool names_reap(struct names_process *n, const siginfo_t *gone);
/* It has ended, by a signal. */
bool names_were_killed(const struct names_process *n);
void names_end(struct names_process *n);

#endif
