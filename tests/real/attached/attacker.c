/* SPDX-License-Identifier: MIT
 *
 * attacker KIND SECONDS: a loop that does to a watcher what a hostile program can. Its kinds are in
 * `attacks`. Prints `ready` first.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define PAGE 4096ul

static const char evil[] = "\033]0;x\007\033[2J\n\r\x9b"
                           "31m\xff\xfe%s%n{\"";
static char **arguments;
static int loop;
static uint64_t random_state;

static uint64_t next(void) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

static double now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void turn(int ms) {
    struct epoll_event event;
    epoll_wait(loop, &event, 1, ms);
}

static void hang(void) {
    usleep(400000);
}

/* The thread's name, the arguments and the name of a mapping have control characters. */
static void rename_all(void) {
    char name[16];
    snprintf(name, sizeof name, "%.*s%u", (int)(next() % 15), evil + next() % 8, (unsigned)next() % 10);
    prctl(PR_SET_NAME, name);
    memset(arguments[0], evil[next() % (sizeof evil - 1)], strlen(arguments[0]));
    if (next() % 20 == 0) {
        hang();
    }
}

/* It becomes itself. */
static void exec_again(void) {
    if (next() % 10 == 0) {
        hang();
    }
    if (next() % 5 == 0) {
        execv("/proc/self/exe", arguments);
    }
}

static void fork_often(void) {
    for (int i = 0; i < 100; i++) {
        pid_t child = fork();
        if (child == 0) {
            turn((int)(next() % 3));
            _exit(0);
        }
        waitpid(child, NULL, 0);
    }
}

static void *live_short(void *unused) {
    struct epoll_event event;
    epoll_wait(loop, &event, 1, (int)((uintptr_t)unused % 5));
    return NULL;
}

static void start_threads(void) {
    pthread_t threads[20];
    unsigned count = 0;
    while (count < 20 && pthread_create(&threads[count], NULL, live_short, (void *)(uintptr_t)next()) == 0) {
        count++;
    }
    while (count > 0) {
        pthread_join(threads[--count], NULL);
    }
}

static char *pages;

static void *unmap_always(void *unused) {
    (void)unused;
    for (;;) {
        size_t at = next() % 16;
        mprotect(pages + at * PAGE, PAGE, PROT_NONE);
        usleep(50);
        mprotect(pages + at * PAGE, PAGE, PROT_READ | PROT_WRITE);
    }
    return NULL;
}

static ucontext_t back, there;

static void on_other_stack(void) {
    turn(1);
    swapcontext(&there, &back);
}

/* It waits on a stack whose pages above another thread takes away and gives back. */
static void unmap_stack(void) {
    if (pages == NULL) {
        pthread_t thread;
        pages = mmap(NULL, 32 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        pthread_create(&thread, NULL, unmap_always, NULL);
    }
    getcontext(&there);
    there.uc_stack.ss_sp = pages + 16 * PAGE;
    there.uc_stack.ss_size = 16 * PAGE;
    there.uc_link = &back;
    makecontext(&there, on_other_stack, 0);
    swapcontext(&back, &there);
    if (next() % 30 == 0) {
        hang();
    }
}

/* Registers and the stack's words are random while it sleeps: frames lead anywhere. */
static void lie_about_frames(void) {
    uint64_t words[512];
    for (size_t i = 0; i < 512; i++) {
        words[i] = next() % 3 == 0   ? (uint64_t)(uintptr_t)&words[next() % 512]
                   : next() % 3 == 0 ? (uint64_t)(uintptr_t)rename_all + next() % 4096
                                     : next();
    }
    __asm__ volatile("" ::"r"(words) : "memory");
    if (next() % 10 == 0) {
        hang();
    }
    turn(1);
}

/* Executable mappings of a file that is no ELF file, or a damaged one, and that goes and changes. */
static void map_garbage(void) {
    static char *code;
    char path[64], bytes[4096];
    snprintf(path, sizeof path, "garbage%u", (unsigned)next() % 4);
    int fd = open(path, O_RDWR | O_CREAT, 0700), self = open("/proc/self/exe", O_RDONLY);
    for (int i = 0; i < 8 && read(self, bytes, sizeof bytes) == (ssize_t)sizeof bytes; i++) {
        for (int k = 0; k < 20; k++) {
            bytes[next() % (i == 0 ? 512 : 4096)] = (char)next();
        }
        memcpy(bytes, "\177ELF", 4);
        if (write(fd, bytes, sizeof bytes) < 0) {
            break;
        }
    }
    if (code != NULL) {
        munmap(code, 8 * PAGE);
    }
    code = mmap(NULL, 8 * PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
    if (next() % 2 == 0 && ftruncate(fd, (off_t)(next() % 8192)) != 0) {
        unlink(path);
    }
    if (next() % 3 == 0) {
        unlink(path);
    }
    close(fd);
    close(self);
    if (next() % 20 == 0) {
        hang();
    }
}

static const struct {
    const char *name;
    void (*act)(void);
} attacks[] = {{"rename", rename_all},     {"exec", exec_again},   {"fork", fork_often},
               {"threads", start_threads}, {"unmap", unmap_stack}, {"frames", lie_about_frames},
               {"garbage", map_garbage}};

int main(int argc, char **argv) {
    double end = now_s() + (argc > 2 ? atof(argv[2]) : 5);
    const char *kind = argc > 1 ? argv[1] : "rename";
    int fd[2];
    struct epoll_event event = {.events = EPOLLIN};
    const char *until = getenv("ATTACK_UNTIL"); /* over an exec */
    char text[32];
    arguments = argv;
    random_state = (uint64_t)getpid() * 0x9E3779B97F4A7C15u + (uint64_t)(now_s() * 1e6);
    end = until != NULL ? atof(until) : end;
    snprintf(text, sizeof text, "%f", end);
    setenv("ATTACK_UNTIL", text, 1);
    loop = epoll_create1(EPOLL_CLOEXEC);
    if (pipe2(fd, O_CLOEXEC) != 0) {
        return 1;
    }
    epoll_ctl(loop, EPOLL_CTL_ADD, fd[0], &event);
    if (until == NULL) {
        puts("ready");
        fflush(stdout);
    }
    while (now_s() < end) {
        turn((int)(next() % 20));
        for (size_t i = 0; i < sizeof attacks / sizeof attacks[0]; i++) {
            if (strcmp(kind, attacks[i].name) == 0 || (strcmp(kind, "any") == 0 && next() % 8 == 0)) {
                attacks[i].act();
            }
        }
    }
    return 7;
}
