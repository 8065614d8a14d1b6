/* SPDX-License-Identifier: MIT
 *
 * What daemons do to themselves, each followed by a loop that is stalled for 1.2 s in its middle. `leaves
 * WAY...` does each in its turn, tells the descriptors that it has then, and its user: closefrom,
 * close_range, close-all, chroot, nowhere (a working folder that is unlinked), nobody (user and groups),
 * daemon, double-fork.
 */
#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "listening.h"

static int out = STDOUT_FILENO, fds[2];

static void tick(int times) {
    for (int i = 0; i < times; i++) {
        struct pollfd p = {.fd = fds[0], .events = POLLIN};
        poll(&p, 1, 50);
    }
}

/* Children are counted by the runner only: the parent of a daemon goes at once. */
static int forked(void) {
    pid_t pid = fork();
    if (pid > 0) {
        _exit(3);
    }
    return pid;
}

static int do_one(const char *way) {
    char folder[] = "/tmp/hangdog-nowhere-XXXXXX";
    if (strcmp(way, "closefrom") == 0) {
        closefrom(3);
    } else if (strcmp(way, "close_range") == 0) {
        return close_range(3, ~0U, 0);
    } else if (strcmp(way, "close-all") == 0) {
        for (int fd = 3; fd < sysconf(_SC_OPEN_MAX) && fd < 70000; fd++) {
            close(fd);
        }
    } else if (strcmp(way, "chroot") == 0) {
        return chroot("/usr") != 0 ? -1 : chdir("/");
    } else if (strcmp(way, "nowhere") == 0) {
        return mkdtemp(folder) == NULL || chdir(folder) != 0 ? -1 : rmdir(folder);
    } else if (strcmp(way, "nobody") == 0) {
        return setgroups(0, NULL) != 0 || setgid(65534) != 0 ? -1 : setuid(65534);
    } else if (strcmp(way, "daemon") == 0) {
        return daemon(1, 1);
    } else if (strcmp(way, "double-fork") == 0) {
        return forked() < 0 || setsid() < 0 || forked() < 0 ? -1 : 0;
    }
    return 0;
}

int main(int argc, char **argv) {
    char line[256];
    int n = 0;
    if ((fds[0] = listening_socket()) < 0) {
        return 1;
    }
    for (int i = 1; i < argc; i++) {
        if (do_one(argv[i]) != 0) {
            perror(argv[i]);
            return 1;
        }
    }
    if (fcntl(fds[0], F_GETFD) < 0) { /* a new one, by another number */
        if ((fds[0] = listening_socket()) < 0) {
            return 1;
        }
        fds[0] = fcntl(fds[0], F_DUPFD, 20);
    }
    for (int fd = 0; fd < 1100; fd++) {
        n += fcntl(fd, F_GETFD) >= 0 ? snprintf(line + n, sizeof line - (size_t)n, "%d ", fd) : 0;
    }
    n += snprintf(line + n, sizeof line - (size_t)n, "user %d next %d\n", (int)getuid(), dup(out));
    if (write(out, line, (size_t)n) < 0) {
        return 1;
    }
    tick(80);
    nanosleep(&(struct timespec){1, 200000000}, NULL);
    tick(20);
    return write(out, "end\n", 4) == 4 ? 7 : 1;
}
