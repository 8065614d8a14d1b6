/* SPDX-License-Identifier: MIT
 *
 * A program that becomes itself by each of the exec functions. `become FORM` first fails to (no such file),
 * tells its descriptors, and then execs `become end`, which tells its arguments, descriptors and environment.
 * `become hang`: in its loop, when the loop is sure, a callback computes for 1.2 s and then execs `become
 * loop`, which ticks, sleeps for 1.2 s, ticks and ends. `become children`: what children see that are made in
 * each way. `become grown`: it execs itself with arguments than which its children can have no longer ones.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "listening.h"

extern char **environ;

static const char *self;

static void print_descriptors(void) {
    DIR *dir = opendir("/proc/self/fd");
    for (const struct dirent *e; dir != NULL && (e = readdir(dir)) != NULL;) {
        if (e->d_name[0] != '.') {
            printf("%s ", e->d_name);
        }
    }
    closedir(dir);
    printf("\n");
    fflush(stdout);
}

static int end(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        printf("[%s] ", argv[i]);
    }
    print_descriptors();
    for (char **e = environ; *e != NULL; e++) {
        printf("%s\n", *e);
    }
    return 0;
}

/* libc refuses to where there is no environment, which is not an empty one. */
static int by_descriptor(int file, char **argv, char **env) {
    int refused = file < 0 ? -1 : fexecve(file, argv, NULL);
    return file < 0 || errno != EINVAL ? refused : fexecve(file, argv, env);
}

static int into(const char *form, const char *path) {
    char *argv[] = {"become", "end", "x y", NULL};
    char *env[] = {"A=1", "LD_PRELOAD=libm.so.6", "B=2", NULL};
    int dir;
    if (strcmp(form, "execl") == 0) {
        return execl(path, "become", "end", "x y", NULL);
    }
    if (strcmp(form, "execlp") == 0) {
        return execlp(path, "become", "end", "x y", NULL);
    }
    if (strcmp(form, "execle") == 0) {
        return execle(path, "become", "end", "x y", NULL, env);
    }
    if (strcmp(form, "execv") == 0) {
        return execv(path, argv);
    }
    if (strcmp(form, "execve") == 0) {
        return execve(path, argv, env);
    }
    if (strcmp(form, "execvp") == 0) {
        return execvp(strrchr(path, '/') + 1, argv); /* its folder is in PATH */
    }
    if (strcmp(form, "execvpe") == 0) {
        return execvpe(path, argv, env);
    }
    dir = open(path, O_RDONLY | O_CLOEXEC);
    if (strcmp(form, "fexecve") == 0) {
        return by_descriptor(dir, argv, env);
    }
    close(dir);
    return execveat(AT_FDCWD, path, argv, env, 0);
}

static int fds[2];

static void tick(int times) {
    for (int i = 0; i < times; i++) {
        struct pollfd p = {.fd = fds[0], .events = POLLIN};
        poll(&p, 1, 50);
    }
}

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int hang(void) {
    volatile unsigned spun = 0;
    if ((fds[0] = listening_socket()) < 0) {
        return 1;
    }
    tick(80);
    for (double until = now_ms() + 1200; now_ms() < until;) {
        spun++;
    }
    return execl(self, "become", "loop", NULL);
}

static int loop(void) {
    struct timespec t = {1, 200000000};
    if ((fds[0] = listening_socket()) < 0) {
        return 1;
    }
    tick(80);
    clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
    tick(20);
    return 7;
}

static int children(void) {
    char *argv[] = {"become", "end", NULL};
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        execv(self, argv);
        _exit(1);
    }
    waitpid(pid, &status, 0);
    pid = vfork(); // NOLINT(clang-analyzer-security.insecureAPI.vfork): what is tested
    if (pid == 0) {
        execve(self, argv, environ);
        _exit(1);
    }
    waitpid(pid, &status, 0);
    if (posix_spawn(&pid, self, NULL, NULL, argv, environ) == 0) {
        waitpid(pid, &status, 0);
    }
    char line[4096];
    snprintf(line, sizeof line, "%s end", self);
    status = system(line);         // NOLINT(cert-env33-c): what is tested
    FILE *from = popen(line, "r"); // NOLINT(cert-env33-c): what is tested
    while (from != NULL && fgets(line, sizeof line, from) != NULL) {
        fputs(line, stdout);
    }
    pclose(from);
    return status;
}

static bool fits_a_child(char **argv) {
    int status = 1;
    pid_t pid = fork();
    if (pid == 0) {
        execve(self, argv, environ);
        _exit(1);
    }
    return waitpid(pid, &status, 0) == pid && status == 0;
}

static int grown(void) {
    static char first[131000], second[131072]; /* of the 256 KiB that a quarter of the stack is then */
    char *argv[] = {"become", "fits", first, second, NULL};
    struct rlimit stack;
    size_t least = 0, most = sizeof second;
    getrlimit(RLIMIT_STACK, &stack);
    stack.rlim_cur = 1 << 20;
    setrlimit(RLIMIT_STACK, &stack);
    memset(first, 'a', sizeof first - 1);
    while (least + 1 < most) {
        size_t between = (least + most) / 2;
        memset(second, 'b', between);
        second[between] = '\0';
        *(fits_a_child(argv) ? &least : &most) = between;
    }
    second[least] = '\0';
    execve(self, argv, environ);
    perror("execve");
    return 1;
}

int main(int argc, char **argv) {
    const char *form = argc > 1 ? argv[1] : "execv";
    self = realpath("/proc/self/exe", NULL);
    if (strcmp(form, "end") == 0) {
        return end(argc, argv);
    }
    if (strcmp(form, "hang") == 0) {
        return hang();
    }
    if (strcmp(form, "loop") == 0) {
        return loop();
    }
    if (strcmp(form, "children") == 0) {
        return children();
    }
    if (strcmp(form, "grown") == 0) {
        return grown();
    }
    if (strcmp(form, "fits") == 0) {
        return 0;
    }
    int result = into(form, "/nowhere/become-nothing");
    printf("%d %s ", result, strerror(errno));
    print_descriptors();
    into(form, self);
    return 1;
}
