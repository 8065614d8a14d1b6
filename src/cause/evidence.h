/* SPDX-License-Identifier: MIT
 *
 * The facts of one sample that show why the thread hangs. Plain values: the worker fills them, the rows
 * of causes read them.
 *
 * A sample has one kind of evidence, by what the thread waits at. The peer and the child are known for
 * several kinds, and each has a member of its own.
 */
#ifndef HD_EVIDENCE_H
#define HD_EVIDENCE_H

#include "base/types.h"
#include "base/words.h"

/* Kinds of descriptors, as their links in /proc name them. */
enum hd_fd_kind {
    HD_FD_NONE,
    HD_FD_FILE,
    HD_FD_INET,
    HD_FD_UNIX,
    HD_FD_PIPE,
    HD_FD_EPOLL,
    HD_FD_EVENT,
    HD_FD_TTY,
    HD_FD_OTHER,
    HD_FD_PROCESS /* a pidfd; only a set of descriptors has one, so it needs no word for the user */
};

/* The garbage collector that a thread runs. */
enum hd_collector {
    HD_COLLECTOR_NONE,
    HD_COLLECTOR_PYTHON,
    HD_COLLECTOR_V8
};

/* The member of the union in struct hd_evidence that is valid. */
enum hd_evidence_kind {
    HD_EVIDENCE_NONE,
    HD_EVIDENCE_TOOLKIT,    /* the thread runs in a toolkit's code */
    HD_EVIDENCE_DESCRIPTOR, /* the call works on a descriptor, or waits for a set of them */
    HD_EVIDENCE_LOCK,       /* the thread waits for a lock in memory */
};

/* The descriptor of the call, or the one of a set that says most. */
struct hd_descriptor_seen {
    uint8_t kind;   /* enum hd_fd_kind */
    uint64_t inode; /* of the one socket or pipe; 0: none, or several */
};

struct hd_lock_seen {
    uint64_t address;   /* of the futex */
    int32_t owner_tid;  /* 0: unknown */
    int32_t joined_tid; /* the thread waits until this one ends; 0: the lock is for something else */
    uint32_t readers;   /* a writer waits for so many; 0: unknown */
    uint8_t kind;       /* enum hd_lock_kind */
    bool gil;           /* Python's global lock */
    bool ownable;       /* locks of this kind store their owner */
    bool owned;         /* the lock has stored a living owner */
};

struct hd_evidence {
    enum hd_evidence_kind kind;
    union {
        struct hd_descriptor_seen descriptor;
        struct hd_lock_seen lock;
    };
    char name[64]; /* base name of the file, or library of the toolkit without its version; empty */
};

/* The child process that a thread waits for. */
struct hd_child_seen {
    int32_t pid;   /* 0: none, or any */
    bool alive;    /* a child that this turn started is alive, or has the other end of the pipe */
    bool vforked;  /* the call is a clone that returns when the child has memory of its own, or has ended */
    char name[16]; /* the program's; empty: unknown */
};

/* The process at the other end of a socket, or the one that replies to a request. */
struct hd_peer_seen {
    const char *request; /* the function on the stack that waits for a reply; NULL: none */
    const char *awaited; /* the reply, in words for the user */
    bool display;        /* the display server */
    char name[64];       /* empty: unknown */
};

/* One sample. */
struct hd_probe {
    uint64_t for_ns;    /* the time that the sample stands for */
    uint64_t cpu_ns;    /* growth of the thread's CPU time meanwhile */
    uint64_t delay_ns;  /* growth of the thread's time without a CPU meanwhile */
    int32_t syscall_nr; /* HD_SYSCALL_NONE: in no call */
    uint8_t state;      /* enum hd_run_state */
    uint8_t collector;  /* enum hd_collector */
    bool not_a_hang;    /* a child has the terminal, or another thread serves the loop */
    struct hd_child_seen child;
    struct hd_evidence evidence;
    struct hd_peer_seen peer;
};

/* Each of these reads any kind of evidence: one that lacks the value gives 0. */

enum hd_fd_kind hd_evidence_fd_kind(const struct hd_probe *p);

/* A lock of zeros where the thread waits for none. */
const struct hd_lock_seen *hd_evidence_lock(const struct hd_probe *p);

/* The thread that this one waits for: the owner of a lock, or a thread that is to end. */
int32_t hd_evidence_awaited_tid(const struct hd_probe *p);

/* A thread of a library reads the reply, and this thread waits for that one. Or this thread waits for the
 * reply itself, of a name server. */
bool hd_evidence_awaits_reply(const struct hd_probe *p);

#endif
