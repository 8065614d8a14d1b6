/* SPDX-License-Identifier: MIT
 *
 * A program for `hangdog dump`, by its first argument: `deadlock`, `owner`, `many N`, `spin`, `deep`,
 * `hostile`. It says "ready" and goes on until it is killed.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#define KEPT __attribute__((noinline, used))

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;
static _Atomic int started;
static volatile uint64_t sum;

static void start(void *(*call)(void *), void *argument) {
    pthread_t thread;
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 64 * 1024);
    if (pthread_create(&thread, &small, call, argument) != 0) {
        _exit(3);
    }
}

static void ready(void) {
    puts("ready");
    fflush(stdout);
}

/* ---- locks ------------------------------------------------------------------------------------ */

KEPT static void flush_cache(void) {
    pthread_mutex_lock(&second);
    pthread_barrier_wait(&both);
    pthread_mutex_lock(&first);
    sum++;
}

KEPT static void update_row(void) {
    pthread_mutex_lock(&first);
    pthread_barrier_wait(&both);
    ready();
    pthread_mutex_lock(&second);
    sum++;
}

static void *writer(void *unused) {
    prctl(PR_SET_NAME, "db-writer");
    flush_cache();
    return unused;
}

KEPT static void compact_log(void) {
    for (;;) {
        sleep(1000);
    }
}

static void *compactor(void *unused) {
    prctl(PR_SET_NAME, "compactor");
    pthread_mutex_lock(&first);
    started = 1;
    compact_log();
    return unused;
}

/* ---- many ------------------------------------------------------------------------------------- */

KEPT static void idle(void) {
    for (;;) {
        pause();
    }
}

static void *idler(void *unused) {
    started++;
    idle();
    return unused;
}

static void *named(void *name) {
    prctl(PR_SET_NAME, name);
    return idler(NULL);
}

KEPT static void work(void) {
    for (;;) {
        sum++;
    }
}

static void *worker(void *unused) {
    prctl(PR_SET_NAME, "worker");
    work();
    return unused;
}

KEPT static int recurse(int depth) {
    volatile char room[400] = {0};
    if (depth == 0) {
        ready();
        pause();
    }
    return depth == 0 ? room[0] : recurse(depth - 1) + room[1];
}

/* ---- what should not be there ----------------------------------------------------------------- */

/* Mappings of files come and go, some of them with a header of an ELF file that lies. */
static void *remap(void *unused) {
    char page[4096];
    int fd = open("/proc/self/exe", O_RDONLY);
    int lie = memfd_create("lib\033[31mlie.so\n", 0);
    if (read(fd, page, sizeof page) != (ssize_t)sizeof page) {
        _exit(4);
    }
    for (unsigned i = 32; i < sizeof page; i += 3) {
        page[i] = (char)(i * 37);
    }
    if (write(lie, page, sizeof page) != (ssize_t)sizeof page || ftruncate(lie, 65536) != 0) {
        _exit(4);
    }
    for (;;) {
        void *a = mmap(NULL, 65536, PROT_READ | PROT_EXEC, MAP_PRIVATE, lie, 0);
        void *library = dlopen("libm.so.6", RTLD_NOW);
        munmap(a, 65536);
        if (library != NULL) {
            dlclose(library);
        }
    }
    return unused;
}

/* A stack whose words are all return addresses, or lead in circles. */
static void *bad_stack(void *unused) {
    volatile uint64_t words[4000];
    for (unsigned i = 0; i + 1 < 4000; i += 2) {
        words[i] = (uint64_t)(uintptr_t)&words[(i + 2) % 4000];
        words[i + 1] = (uint64_t)(uintptr_t)&idle + i % 64;
    }
    void **frame = __builtin_frame_address(0);
    frame[0] = (void *)(uintptr_t)&words[0];
    frame[1] = (void *)(uintptr_t)&words[1];
    started++;
    for (;;) {
        usleep(1000);
        words[(sum++ % 2000) * 2 + 1] ^= 0xff;
    }
    return unused;
}

static void *renamer(void *unused) {
    for (unsigned i = 0;; i++) {
        prctl(PR_SET_NAME, i % 2 == 0 ? "\033]0;x\007\033[2J" : "\xff\xfe) R 1 2 \n");
        usleep(100);
    }
    return unused;
}

int main(int argc, char **argv) {
    const char *mode = argc > 1 ? argv[1] : "";
    pthread_barrier_init(&both, NULL, 2);
    if (strcmp(mode, "deadlock") == 0) {
        start(writer, NULL);
        update_row();
    } else if (strcmp(mode, "owner") == 0) {
        start(compactor, NULL);
        while (started == 0) {
            usleep(1000);
        }
        ready();
        pthread_mutex_lock(&first);
    } else if (strcmp(mode, "many") == 0) {
        int count = argc > 2 ? atoi(argv[2]) : 1;
        for (int i = 0; i < count; i++) {
            start(idler, NULL);
        }
        while (started < count) {
            usleep(1000);
        }
        ready();
        idle();
    } else if (strcmp(mode, "named") == 0) {
        start(named, "bio_close");
        start(named, "bio_aof");
        start(named, "bio_lazy");
        ready();
        idle();
    } else if (strcmp(mode, "spin") == 0) {
        start(worker, NULL);
        ready();
        idle();
    } else if (strcmp(mode, "deep") == 0) {
        return recurse(1000);
    } else if (strcmp(mode, "hostile") == 0) {
        start(remap, NULL);
        start(renamer, NULL);
        for (int i = 0; i < 8; i++) {
            start(bad_stack, NULL);
        }
        while (started < 8) {
            usleep(1000);
        }
        ready();
        idle();
    }
    return 2;
}
