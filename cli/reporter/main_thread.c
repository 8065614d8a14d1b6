/* SPDX-License-Identifier: MIT */
#include "cli/reporter/main_thread.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/linux/proc_files.h"
#include "os/os.h"
#include "os/syscall_table.h"

#define STEP_MIN_NS (20 * HD_NS_PER_MS)
#define STEP_MAX_NS HD_NS_PER_S

static bool read_line(const char *path, char *to, size_t size) {
    long n = hd_proc_read(AT_FDCWD, path, to, size);
    to[strcspn(to, "\n")] = '\0';
    return n > 0;
}

static enum main_thread_state state_of_call(int32_t nr) {
    switch (hd_syscall_wait(nr)) {
    case HD_WAIT_CHILD:
        return MAIN_THREAD_CHILD;
    case HD_WAIT_LOCK:
        return MAIN_THREAD_LOCK;
    case HD_WAIT_TIME:
        return MAIN_THREAD_SLEPT;
    case HD_WAIT_ANY:
        return MAIN_THREAD_LOOP;
    case HD_WAIT_DESCRIPTOR:
    case HD_WAIT_SOCKET:
        return MAIN_THREAD_INPUT;
    default:
        return MAIN_THREAD_OTHER;
    }
}

/* Where the kernel does not show calls (Yama): the function in which it sleeps. */
static enum main_thread_state state_of_function(const char *function) {
    static const struct {
        const char *begins;
        enum main_thread_state state;
    } known[] = {{"do_wait", MAIN_THREAD_CHILD},
                 {"futex_", MAIN_THREAD_LOCK},
                 {"hrtimer_nanosleep", MAIN_THREAD_SLEPT},
                 {"do_nanosleep", MAIN_THREAD_SLEPT},
                 {"ep_poll", MAIN_THREAD_LOOP},
                 {"do_poll", MAIN_THREAD_LOOP},
                 {"do_sys_poll", MAIN_THREAD_LOOP},
                 {"do_select", MAIN_THREAD_LOOP},
                 {"poll_schedule", MAIN_THREAD_LOOP},
                 {"pipe_read", MAIN_THREAD_INPUT},
                 {"n_tty_read", MAIN_THREAD_INPUT},
                 {"wait_woken", MAIN_THREAD_INPUT},
                 {"inet_csk_accept", MAIN_THREAD_INPUT}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strncmp(function, known[i].begins, strlen(known[i].begins)) == 0) {
            return known[i].state;
        }
    }
    return MAIN_THREAD_OTHER;
}

#define NO_THREAD "-1 0x0 0x0" /* of a process that has ended; its parent has not waited yet */

/* False: the thread has gone. */
static bool read_state(struct main_thread *t, pid_t pid, pid_t tid, enum main_thread_state *state) {
    char path[64], text[256];
    snprintf(path, sizeof path, "/proc/%d/task/%d/syscall", (int)pid, (int)tid);
    if (read_line(path, text, sizeof text)) {
        if (strcmp(text, NO_THREAD) == 0) {
            return false;
        }
        int32_t nr = (int32_t)strtol(text, NULL, 10);
        bool runs = strncmp(text, "running", strlen("running")) == 0;
        *state = runs ? MAIN_THREAD_RAN : nr < 0 ? MAIN_THREAD_OTHER : state_of_call(nr);
        const char *name = runs || nr < 0 ? NULL : hd_syscall_name(nr);
        if (t != NULL) {
            snprintf(t->call[*state], sizeof t->call[0], "%s", name != NULL ? name : "");
        }
        return true;
    }
    snprintf(path, sizeof path, "/proc/%d/task/%d/wchan", (int)pid, (int)tid);
    if (!read_line(path, text, sizeof text)) {
        return false;
    }
    *state = strcmp(text, "0") == 0 ? MAIN_THREAD_RAN : state_of_function(text);
    return true;
}

bool main_thread_read_state(pid_t pid, enum main_thread_state *state) {
    return read_state(NULL, pid, pid, state);
}

static void read_child(struct main_thread *t, pid_t pid) {
    char path[64], text[64], *end;
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)pid, (int)pid);
    if (!read_line(path, text, sizeof text)) {
        return;
    }
    pid_t child = (pid_t)strtol(text, &end, 10);
    if (child > 0 && end[strspn(end, " ")] == '\0') {
        snprintf(path, sizeof path, "/proc/%d/comm", (int)child);
        if (read_line(path, t->child_name, sizeof t->child_name)) {
            t->child = child;
        }
    }
}

/* True: the program has threads besides the main one. Hangdog's two threads do not count; they have their
 * names once both have started. */
static bool has_others(pid_t pid) {
    char path[64], name[16];
    unsigned ours = 0, others = 0;
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *dir = opendir(path);
    const struct dirent *e;
    while (dir != NULL && (ours < 2 || others == 0) && (e = readdir(dir)) != NULL) {
        pid_t tid = (pid_t)strtol(e->d_name, NULL, 10);
        snprintf(path, sizeof path, "/proc/%d/task/%d/comm", (int)pid, (int)tid);
        if (tid > 0 && tid != pid && read_line(path, name, sizeof name)) {
            bool is_ours = strncmp(name, "hangdog", strlen("hangdog")) == 0;
            ours += is_ours;
            others += !is_ours;
        }
    }
    if (dir != NULL) {
        closedir(dir);
    }
    return ours >= 2 && others > 0;
}

static void add_thread(struct main_thread *t, const char *name) {
    for (uint32_t i = 0; i < t->threads; i++) {
        if (strcmp(t->thread[i], name) == 0) {
            return;
        }
    }
    if (t->threads < MAIN_THREAD_NAMES) {
        snprintf(t->thread[t->threads++], sizeof t->thread[0], "%s", name);
    }
}

/* Other threads that wait as a loop does. */
static void read_threads(struct main_thread *t, pid_t pid) {
    char path[64], name[16];
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *dir = opendir(path);
    unsigned seen = 0;
    for (const struct dirent *e; dir != NULL && seen < 32 && (e = readdir(dir)) != NULL; seen++) {
        pid_t tid = (pid_t)strtol(e->d_name, NULL, 10);
        enum main_thread_state state;
        if (tid > 0 && tid != pid && read_state(NULL, pid, tid, &state) && state == MAIN_THREAD_LOOP) {
            snprintf(path, sizeof path, "/proc/%d/task/%d/comm", (int)pid, (int)tid);
            if (read_line(path, name, sizeof name) && strncmp(name, "hangdog", strlen("hangdog")) != 0) {
                add_thread(t, name);
            }
        }
    }
    if (dir != NULL) {
        closedir(dir);
    }
}

uint64_t main_thread_sample(struct main_thread *t, pid_t pid, uint64_t started_ns, uint64_t now_ns,
                            bool threads) {
    enum main_thread_state state;
    if (t->last_ns == 0) {
        t->last_ns = started_ns;
        t->step_ns = STEP_MIN_NS;
        t->due_ns = now_ns;
    }
    if (now_ns < t->due_ns) {
        return t->due_ns;
    }
    if (read_state(t, pid, pid, &state)) {
        t->has_others = t->has_others || has_others(pid);
        if (state == MAIN_THREAD_LOCK && !t->has_others) {
            state = MAIN_THREAD_STARTED; /* for a thread of ours */
        }
        t->spent_ns[state] += now_ns - t->last_ns;
        t->state = state;
        if (state == MAIN_THREAD_CHILD) {
            read_child(t, pid);
        }
        if (state == MAIN_THREAD_LOCK || threads) {
            read_threads(t, pid);
        }
    }
    t->last_ns = now_ns;
    t->due_ns = now_ns + t->step_ns;
    t->step_ns = t->step_ns * 3 / 2 < STEP_MAX_NS ? t->step_ns * 3 / 2 : STEP_MAX_NS;
    return t->due_ns;
}

void main_thread_end(struct main_thread *t, uint64_t ended_ns) {
    if (t->last_ns != 0 && ended_ns > t->last_ns) {
        t->spent_ns[t->state] += ended_ns - t->last_ns;
        t->last_ns = ended_ns;
    }
}

enum main_thread_state main_thread_most(const struct main_thread *t) {
    unsigned most = 0;
    for (unsigned i = 1; i < MAIN_THREAD_STARTED; i++) {
        most = t->spent_ns[i] > t->spent_ns[most] ? i : most;
    }
    return (enum main_thread_state)most;
}
