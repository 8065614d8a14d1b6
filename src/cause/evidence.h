/* SPDX-License-Identifier: MIT
 *
 * The facts of one sample that show why the watched thread hangs. The worker reads these facts from /proc,
 * and rows.c finds the cause by them.
 *
 * A sample has one kind of evidence, which depends on the object that the thread waits for. A peer or a child
 * may be known in addition, so struct hd_probe has separate members for them.
 */
#ifndef HD_EVIDENCE_H
#define HD_EVIDENCE_H

#include "base/types.h"
#include "base/words.h"
#include "os/thread_id.h"

/* Kinds of descriptors. A descriptor's link in /proc shows its kind. */
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
    /* A pidfd. No sentence names this kind, because a thread that waits for a pidfd counts as one that waits
     * for a child. */
    HD_FD_PROCESS,
    HD_FD_PORT, /* a Mach port, by which a reply or an event comes */
};

/* The garbage collector that runs, or waits, in the sampled thread, if any. */
enum hd_collector {
    HD_COLLECTOR_NONE,
    HD_COLLECTOR_PYTHON,
    HD_COLLECTOR_V8
};

/* The kind of evidence that a sample has. The kind says which member of the union in struct hd_evidence is
 * valid. */
enum hd_evidence_kind {
    HD_EVIDENCE_NONE,
    /* the thread runs a toolkit's code; `name` is valid, but no member of the union */
    HD_EVIDENCE_TOOLKIT,
    HD_EVIDENCE_DESCRIPTOR, /* the call works on a file or a descriptor, or waits for several descriptors */
    HD_EVIDENCE_LOCK,       /* the thread waits for a lock in memory */
};

/* The descriptor that the thread's call works on. If the call waits for a set of descriptors: the one that
 * most likely explains why the thread is blocked. */
struct hd_descriptor_seen {
    uint8_t kind;   /* enum hd_fd_kind */
    int32_t number; /* of a file that the call works on by its descriptor */
    /* The inode of the socket or pipe, or the id of a pidfd's process. 0: none or unknown, or the set that
     * the thread waits for has several descriptors of this kind. */
    uint64_t inode;
};

struct hd_lock_seen {
    uint64_t address;   /* the address of the word that the thread waits at; Linux: of the futex */
    hd_thread_id owner; /* the thread that has the lock; none: unknown */
    /* In pthread_join, the thread that must end before the call returns; none: no pthread_join, or unknown.
     */
    hd_thread_id joined;
    uint32_t readers; /* the number of readers that a writer waits for; 0: none, or unknown */
    uint8_t kind;     /* enum hd_lock_kind */
    bool gil;         /* true: the lock is Python's global interpreter lock */
    bool ownable;     /* true: a lock of this kind stores its owner */
    /* true once a sample of this blocked call has found that the lock's owner is a living thread */
    bool owned;
};

struct hd_evidence {
    enum hd_evidence_kind kind;
    /* An initializer that names no member of a union sets only the first member to zero (GCC 15). So the
     * largest member comes first. */
    union {
        struct hd_lock_seen lock;
        struct hd_descriptor_seen descriptor;
    };
    /* base name of the file, or name of the toolkit's library without its version; empty: none */
    char name[64];
};

_Static_assert(sizeof(struct hd_lock_seen) >= sizeof(struct hd_descriptor_seen), "the first member");

/* The child process that a thread waits for. */
struct hd_child_seen {
    int32_t pid; /* process id of the child; 0: none, or unknown */
    bool alive;  /* true: hd_child_find has found a child that the thread may be waiting for */
    /* True: the thread's call is a vfork, which returns once the child has called exec or has ended. */
    bool vforked;
    char name[16]; /* name of the child's main thread (comm); empty: unknown */
};

/* The process at the other end of a socket, or the process that replies to a request. */
struct hd_peer_seen {
    const char *request; /* name of the function on the stack that waits for a reply; NULL: none */
    const char *awaited; /* the reply in words for the user, such as "a reply by D-Bus" */
    bool display;        /* true: the peer is the display server */
    char name[64];       /* name or address of the peer's socket; empty: unknown */
};

/* The other party: the process, service, server or file system that the thread waits for. */
struct hd_party_seen {
    int32_t pid;   /* 0: unknown, or the party is no process of this machine */
    uint8_t role;  /* enum hd_party_role */
    char name[48]; /* of the program, service or mount; no control characters; empty: unknown */
};

/* The facts of one sample that show why the watched thread is not in its loop's wait. */
struct hd_probe {
    uint64_t for_ns; /* the time that the sample stands for, from this sample to the next one */
    uint64_t cpu_ns; /* by how much the thread's CPU time grew from this sample to the next one */
    /* by how much the thread's total time of waiting for a CPU grew from this sample to the next one */
    uint64_t delay_ns;
    int32_t syscall_nr; /* HD_SYSCALL_NONE: the thread is in no system call */
    uint8_t state;      /* enum hd_run_state */
    uint8_t collector;  /* enum hd_collector */
    /* True: the turn is no hang, because the user works with a child in the terminal, or another thread
     * handles the loop's events now. */
    bool not_a_hang;
    struct hd_child_seen child;
    struct hd_evidence evidence;
    struct hd_peer_seen peer;
    struct hd_party_seen party;
};

/* These functions accept evidence of any kind. Each returns 0 if the evidence does not contain its value. */

enum hd_fd_kind hd_evidence_fd_kind(const struct hd_probe *p);

/* Returns the lock that the thread waits for. If the thread waits for no lock, all members are 0. */
const struct hd_lock_seen *hd_evidence_lock(const struct hd_probe *p);

/* Returns the thread that the sampled thread waits for: the owner of a lock, or the thread that pthread_join
 * waits for. HD_THREAD_ID_NONE: none, or unknown. */
hd_thread_id hd_evidence_awaited_thread(const struct hd_probe *p);

/* True: the thread waits for the reply of another process. Mostly a library's own thread reads the reply,
 * and the sampled thread waits for the library's thread. The sampled thread itself reads only replies of a
 * name server. */
bool hd_evidence_awaits_reply(const struct hd_probe *p);

/* Fills out->party. Replaces each control character of `name`, which may be another user's, and shortens it.
 */
void hd_evidence_set_party(struct hd_probe *out, enum hd_party_role role, int32_t pid, const char *name);

#endif
