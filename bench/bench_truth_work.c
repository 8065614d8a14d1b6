/* SPDX-License-Identifier: MIT
 *
 * What the stalls are made of: functions that spin, sleep, wait for a lock, for a disk, for a socket, each
 * kind with one callee that all its functions block in, called at any depth.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "bench_truth.h"

/* A function that stays one: its address is what the report is held to. */
#if defined(__clang__)
#define NOT_INLINED __attribute__((noinline))
#else
#define NOT_INLINED __attribute__((noinline, noclone, no_icf))
#endif
#define STAYS_ON_STACK() __asm__ volatile("" ::: "memory") /* after a call: it is no jump */

#define CHUNK_BYTES (64u * 1024u)
#define CHUNKS 16u

static struct {
    int schedstat_fd; /* of the loop's thread */
    int disk_fd;
    int client_fd, server_fd;
    uint8_t chunk[CHUNK_BYTES];
    pthread_mutex_t lock;
    sem_t lock_wanted, lock_taken;
    _Atomic uint64_t lock_ns;
    pthread_t holder, server;
    bool stop;
} work = {
    .schedstat_fd = -1, .disk_fd = -1, .client_fd = -1, .server_fd = -1, .lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- the helpers: they only sleep, and hold or answer ---------------------------------------- */

static void *holder_run(void *arg) {
    (void)arg;
    for (;;) {
        while (sem_wait(&work.lock_wanted) != 0) {
        }
        if (work.stop) {
            return NULL;
        }
        pthread_mutex_lock(&work.lock);
        sem_post(&work.lock_taken);
        bench_sleep_ns(work.lock_ns);
        pthread_mutex_unlock(&work.lock);
    }
}

static void *server_run(void *arg) {
    uint64_t ns;
    (void)arg;
    while (recv(work.server_fd, &ns, sizeof ns, MSG_WAITALL) == sizeof ns) {
        bench_sleep_ns(ns);
        if (send(work.server_fd, &ns, 1, 0) != 1) {
            break;
        }
    }
    return NULL;
}

/* ---- the callees ---------------------------------------------------------------------------- */

static NOT_INLINED void do_cpu(uint64_t ns) {
    uint64_t until = bench_now_ns() + ns;
    volatile uint64_t x = ns;
    while (bench_now_ns() < until) {
        for (unsigned i = 0; i < 1000; i++) {
            x = x * 6364136223846793005ULL + 1442695040888963407ULL;
        }
    }
}

static NOT_INLINED void do_sleep(uint64_t ns) {
    struct timespec t = {.tv_sec = (time_t)(ns / BENCH_S), .tv_nsec = (long)(ns % BENCH_S)};
    while (nanosleep(&t, &t) != 0) {
    }
    STAYS_ON_STACK();
}

static NOT_INLINED void do_lock(uint64_t ns) {
    work.lock_ns = ns;
    sem_post(&work.lock_wanted);
    while (sem_wait(&work.lock_taken) != 0) {
    }
    pthread_mutex_lock(&work.lock);
    pthread_mutex_unlock(&work.lock);
    STAYS_ON_STACK();
}

/* Writes to a file that must be on the disk each time: the thread waits for the device nearly all the time.
 */
static NOT_INLINED void do_disk(uint64_t ns) {
    uint64_t until = bench_now_ns() + ns;
    for (unsigned i = 0; bench_now_ns() < until; i++) {
        if (pwrite(work.disk_fd, work.chunk, CHUNK_BYTES, (off_t)(i % CHUNKS) * CHUNK_BYTES) < 0 ||
            fsync(work.disk_fd) != 0) {
            perror("hangdog-bench: truth: write");
            exit(1);
        }
    }
    STAYS_ON_STACK();
}

static NOT_INLINED void do_network(uint64_t ns) {
    char answer;
    if (send(work.client_fd, &ns, sizeof ns, 0) != sizeof ns || recv(work.client_fd, &answer, 1, 0) != 1) {
        perror("hangdog-bench: truth: socket");
        exit(1);
    }
    STAYS_ON_STACK();
}

/* ---- the functions -------------------------------------------------------------------------- */

typedef void (*truth_function)(uint64_t ns);

#define FUNCTION(kind, n)                             \
    static NOT_INLINED void kind##_##n(uint64_t ns) { \
        do_##kind(ns);                                \
        __asm__ volatile("# " #kind #n ::: "memory"); \
    }
#define FUNCTIONS(kind) \
    FUNCTION(kind, 0)   \
    FUNCTION(kind, 1) FUNCTION(kind, 2) FUNCTION(kind, 3) FUNCTION(kind, 4) FUNCTION(kind, 5)

FUNCTIONS(cpu)
FUNCTIONS(sleep)
FUNCTIONS(lock)
FUNCTIONS(disk)
FUNCTIONS(network)

#define ROW(kind) \
    { kind##_0, kind##_1, kind##_2, kind##_3, kind##_4, kind##_5 }
static const truth_function functions[TRUTH_WORKS][TRUTH_FUNCTIONS] = {[TRUTH_CPU] = ROW(cpu),
                                                                       [TRUTH_SLEEP] = ROW(sleep),
                                                                       [TRUTH_LOCK] = ROW(lock),
                                                                       [TRUTH_DISK] = ROW(disk),
                                                                       [TRUTH_NETWORK] = ROW(network)};

bool truth_function_at(uint64_t address, int *kind, int *function) {
    for (int k = 0; k < TRUTH_WORKS; k++) {
        for (int f = 0; f < TRUTH_FUNCTIONS; f++) {
            if ((uint64_t)(uintptr_t)functions[k][f] == address) {
                *kind = k;
                *function = f;
                return true;
            }
        }
    }
    return false;
}

/* ---- depth ---------------------------------------------------------------------------------- */

/* A chain of calls of one function, and at its end the segment's. Each place in a stall has a chain of its
 * own. */
typedef void (*truth_chain)(unsigned levels, truth_function function, uint64_t ns);

#define CHAIN(n)                                                                               \
    static NOT_INLINED void chain_##n(unsigned levels, truth_function function, uint64_t ns) { \
        if (levels > 1) {                                                                      \
            chain_##n(levels - 1, function, ns);                                               \
        } else {                                                                               \
            function(ns);                                                                      \
        }                                                                                      \
        __asm__ volatile("# chain" #n ::: "memory");                                           \
    }
CHAIN(0)
CHAIN(1)
CHAIN(2)
CHAIN(3)
CHAIN(4)
CHAIN(5)
static const truth_chain chains[TRUTH_SEGMENTS_MAX] = {chain_0, chain_1, chain_2, chain_3, chain_4, chain_5};

static uint64_t run_delay_ns(void) {
    char text[96];
    ssize_t n = pread(work.schedstat_fd, text, sizeof text - 1, 0);
    text[n > 0 ? n : 0] = '\0';
    char *second = strchr(text, ' ');
    return second != NULL ? strtoull(second, NULL, 10) : 0;
}

static NOT_INLINED void run_segments(struct truth_stall *s) {
    for (unsigned i = 0; i < s->count; i++) {
        struct truth_segment *g = &s->segment[i];
        truth_function function = functions[g->kind][g->function];
        unsigned levels = g->depth - s->descent - 2u; /* this function and the segment's are two */
        uint64_t cpu_ns = bench_thread_cpu_ns(), delay_ns = run_delay_ns();
        g->from_ns = bench_now_ns();
        if (levels > 0) {
            chains[i](levels, function, g->wanted_ns);
        } else {
            function(g->wanted_ns);
        }
        g->to_ns = bench_now_ns();
        g->cpu_ns = bench_thread_cpu_ns() - cpu_ns;
        g->delay_ns = run_delay_ns() - delay_ns;
    }
}

static NOT_INLINED void descend(unsigned levels, struct truth_stall *s) {
    if (levels > 1) {
        descend(levels - 1, s);
    } else {
        run_segments(s);
    }
    STAYS_ON_STACK();
}

void truth_work_run(struct truth_stall *s) {
    descend(s->descent, s);
    STAYS_ON_STACK();
}

void truth_work_short(uint8_t kind, uint64_t ns) {
    functions[kind][0](ns);
    STAYS_ON_STACK();
}

/* ---- opening -------------------------------------------------------------------------------- */

static int connect_pair(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int one = 1;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    work.client_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool fine = listener >= 0 && work.client_fd >= 0 &&
                bind(listener, (struct sockaddr *)&address, size) == 0 && listen(listener, 1) == 0 &&
                getsockname(listener, (struct sockaddr *)&address, &size) == 0 &&
                connect(work.client_fd, (struct sockaddr *)&address, size) == 0;
    work.server_fd = fine ? accept4(listener, NULL, NULL, SOCK_CLOEXEC) : -1;
    if (listener >= 0) {
        close(listener);
    }
    setsockopt(work.client_fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    setsockopt(work.server_fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    return work.server_fd >= 0 ? 0 : -1;
}

int truth_work_open(const char *folder) {
    char path[BENCH_PATH + 16];
    snprintf(path, sizeof path, "%s/disk.data", folder);
    memset(work.chunk, 0x5a, sizeof work.chunk);
    work.schedstat_fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    work.disk_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    bool fine = work.schedstat_fd >= 0 && work.disk_fd >= 0 && connect_pair() == 0 &&
                sem_init(&work.lock_wanted, 0, 0) == 0 && sem_init(&work.lock_taken, 0, 0) == 0 &&
                pthread_create(&work.holder, NULL, holder_run, NULL) == 0 &&
                pthread_create(&work.server, NULL, server_run, NULL) == 0;
    if (!fine) {
        fprintf(stderr, "hangdog-bench: truth: cannot set up its file, socket and threads: %s\n",
                strerror(errno));
    }
    return fine ? 0 : -1;
}

void truth_work_close(void) {
    work.stop = true;
    sem_post(&work.lock_wanted);
    shutdown(work.client_fd, SHUT_RDWR);
    pthread_join(work.holder, NULL);
    pthread_join(work.server, NULL);
    close(work.client_fd);
    close(work.server_fd);
    close(work.disk_fd);
    close(work.schedstat_fd);
}
