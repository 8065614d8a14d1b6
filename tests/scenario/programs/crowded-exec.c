/* SPDX-License-Identifier: MIT
 *
 * Executes itself with many variables where the stack is small. `crowded-exec alternate N`: from a handler on
 * an alternate stack of 8 KiB, or `named N`: by its name, of a PATH of 3 KiB; `thread N`: on a thread with
 * the least stack; `vfork N TIMES`: in vforked children, one after the other, and tells by how many bytes its
 * memory has grown since the second. What is executed tells whether Hangdog is loaded, and how many variables
 * it has.
 */
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

#define VARIABLES_MAX 2100

static char *variables[VARIABLES_MAX + 1];
static char *argv_of_end[] = {"crowded-exec", "end", NULL};

static int end(void) {
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[8192];
    int loaded = 0, n = 0;
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
        loaded |= strstr(line, "hangdog-preload") != NULL;
    }
    while (environ[n] != NULL) {
        n++;
    }
    printf("%s %d\n", loaded ? "loaded" : "plain", n);
    return maps != NULL ? fclose(maps) : 1;
}

static void make_variables(int n) {
    static char text[VARIABLES_MAX][32];
    for (int i = 0; i < n; i++) {
        snprintf(text[i], sizeof text[i], "V%d=%d", i, i);
        variables[i] = text[i];
    }
}

static void on_named_signal(int signal) {
    execvpe("crowded-exec", argv_of_end, variables);
    _exit(signal);
}

static void set_path(void) {
    static char path[3072 + PATH_MAX];
    ssize_t n;
    memset(path, ':', 3072);
    n = readlink("/proc/self/exe", path + 3072, PATH_MAX - 1);
    path[3072 + (n > 0 ? n : 0)] = '\0';
    for (int i = 0; i < 3072; i += 64) { /* folders that are not there */
        memset(path + i, 'x', 63);
        path[i] = '/';
    }
    *strrchr(path, '/') = '\0';
    setenv("PATH", path, 1);
}

static void on_signal(int signal) {
    execve("/proc/self/exe", argv_of_end, variables);
    _exit(signal);
}

static void *on_thread(void *unused) {
    execve("/proc/self/exe", argv_of_end, variables);
    return unused;
}

static void by_handler(void (*handler)(int)) {
    static char stack[8192];
    stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK | SA_NODEFER};
    sigaltstack(&alternate, NULL);
    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1);
}

static void by_thread(void) {
    pthread_t thread;
    pthread_attr_t least;
    pthread_attr_init(&least);
    pthread_attr_setstacksize(&least, PTHREAD_STACK_MIN);
    if (pthread_create(&thread, &least, on_thread, NULL) == 0) {
        pthread_join(thread, NULL);
    }
}

static long mapped_bytes(void) {
    FILE *statm = fopen("/proc/self/statm", "re");
    long pages = 0;
    if (statm == NULL || fscanf(statm, "%ld", &pages) != 1) {
        exit(3);
    }
    fclose(statm);
    return pages * sysconf(_SC_PAGESIZE);
}

static __attribute__((noinline)) void run_child(void) {
    pid_t child = vfork(); // NOLINT(clang-analyzer-security.insecureAPI.vfork): meant
    if (child == 0) {
        execve("/proc/self/exe", argv_of_end, variables);
        _exit(4);
    }
    waitpid(child, NULL, 0);
}

static int by_vfork(int times) {
    long before = 0;
    for (int i = 0; i < times; i++) {
        before = i == 2 ? mapped_bytes() : before;
        run_child();
    }
    printf("grown by %ld\n", mapped_bytes() - before);
    return 0;
}

int main(int argc, char **argv) {
    if (argc < 3) {
        return end();
    }
    poll(NULL, 0, 1);
    make_variables(atoi(argv[2]));
    if (strcmp(argv[1], "vfork") == 0) {
        return by_vfork(atoi(argv[3]));
    }
    if (strcmp(argv[1], "alternate") == 0) {
        by_handler(on_signal);
    } else if (strcmp(argv[1], "named") == 0) {
        set_path();
        by_handler(on_named_signal);
    } else {
        by_thread();
    }
    return 2;
}
