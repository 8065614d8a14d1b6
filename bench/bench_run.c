/* SPDX-License-Identifier: MIT
 *
 * Starting and ending programs for the benches. Whether a loop is recognised is read where the runner reads
 * it: in the memory file that runner and preload share.
 */
#include "bench_run.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "record/record.h"

#define ARGS_MAX 24
#define START_MS 10000
#define SURE_MS 60000

void bench_path_next_to_self(char *path, const char *name) {
    char own[BENCH_PATH / 2];
    ssize_t n = readlink("/proc/self/exe", own, sizeof own - 1);
    own[n > 0 ? n : 0] = '\0';
    char *slash = strrchr(own, '/');
    snprintf(path, BENCH_PATH, "%.*s/%s", slash != NULL ? (int)(slash - own) : 0, own, name);
}

void bench_two_processors(int *first, int *last) {
    cpu_set_t set;
    *first = *last = -1;
    if (sched_getaffinity(0, sizeof set, &set) != 0 || CPU_COUNT(&set) < 2) {
        return;
    }
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET((unsigned)cpu, &set)) {
            *first = *first < 0 ? cpu : *first;
            *last = cpu;
        }
    }
}

/* ---- starting ------------------------------------------------------------------------------- */

static _Noreturn void become(char *const argv[], const int *in, const int *out, int cpu) {
    cpu_set_t set;
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    dup2(in != NULL ? in[0] : null, STDIN_FILENO);
    dup2(out != NULL ? out[1] : null, STDOUT_FILENO);
    if (cpu >= 0) {
        CPU_ZERO(&set);
        CPU_SET((unsigned)cpu, &set);
        sched_setaffinity(0, sizeof set, &set);
    }
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    execv(argv[0], argv);
    fprintf(stderr, "hangdog-bench: cannot run %s: %s\n", argv[0], strerror(errno));
    _exit(127);
}

/* The runner holds what it shares with the program as a memory file. */
static const void *open_state(pid_t runner) {
    char folder[64], path[BENCH_PATH], link[64];
    const struct dirent *e;
    void *state = MAP_FAILED;
    snprintf(folder, sizeof folder, "/proc/%d/fd", (int)runner);
    DIR *dir = opendir(folder);
    while (dir != NULL && state == MAP_FAILED && (e = readdir(dir)) != NULL) {
        snprintf(path, sizeof path, "%s/%.16s", folder, e->d_name);
        ssize_t n = readlink(path, link, sizeof link - 1);
        link[n > 0 ? n : 0] = '\0';
        int fd = strncmp(link, "/memfd:hangdog", 14) == 0 ? open(path, O_RDONLY | O_CLOEXEC) : -1;
        if (fd >= 0) {
            state = mmap(NULL, sizeof(struct hd_record), PROT_READ, MAP_SHARED, fd, 0);
            close(fd);
        }
    }
    if (dir != NULL) {
        closedir(dir);
    }
    return state != MAP_FAILED ? state : NULL;
}

static bool alive(pid_t pid) {
    siginfo_t info = {0};
    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == 0;
}

/* Until its monitor runs. */
static int wait_attached(struct bench_program *p, const char *name) {
    const struct hd_record *r = NULL;
    for (int ms = 0; ms < START_MS && alive(p->pid); ms += 10) {
        if (r == NULL) {
            r = open_state(p->pid);
            p->state = r;
        } else if (r->magic == HD_RECORD_MAGIC && atomic_load(&r->status.attached) == 2) {
            return 0;
        }
        bench_sleep_ns(10 * BENCH_MS);
    }
    fprintf(stderr, "hangdog-bench: %s could not be watched by hangdog run\n", name);
    return -ECHILD;
}

int bench_program_start(struct bench_program *p, char *const argv[], bool watched, bool pipes, int cpu) {
    int in[2] = {-1, -1}, out[2] = {-1, -1};
    char hangdog[BENCH_PATH];
    const char *all[ARGS_MAX] = {hangdog, "run", "--quiet", "--spool", p->spool, "--"};
    size_t n = watched ? 6 : 0;
    *p = (struct bench_program){.in = -1, .out = -1};
    bench_path_next_to_self(hangdog, "hangdog");
    all[n++] = argv[0];
    for (size_t i = 1; argv[i] != NULL && n < ARGS_MAX - 1; i++) {
        all[n++] = argv[i];
    }
    all[n] = NULL;
    if (access(argv[0], X_OK) != 0 || (watched && access(hangdog, X_OK) != 0)) {
        fprintf(stderr, "hangdog-bench: cannot run %s: %s\n", access(argv[0], X_OK) != 0 ? argv[0] : hangdog,
                strerror(errno));
        return -ENOENT;
    }
    if ((watched && bench_folder_make(p->spool) != 0) ||
        (pipes && (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0))) {
        fprintf(stderr, "hangdog-bench: cannot start %s: %s\n", argv[0], strerror(errno));
        return -EMFILE;
    }
    fflush(NULL);
    p->pid = fork();
    if (p->pid == 0) {
        become((char *const *)all, pipes ? in : NULL, pipes ? out : NULL, cpu);
    }
    p->in = in[1];
    p->out = out[0];
    if (pipes) {
        close(in[0]);
        close(out[1]);
    }
    if (p->pid < 0) {
        fprintf(stderr, "hangdog-bench: cannot start %s: %s\n", argv[0], strerror(errno));
        p->pid = 0;
        return -EAGAIN;
    }
    return watched ? wait_attached(p, argv[0]) : 0;
}

int bench_program_sure(const struct bench_program *p) {
    const struct hd_record *r = p->state;
    for (int ms = 0; ms < SURE_MS && alive(p->pid); ms += 10) {
        if (atomic_load(&r->loop.certainty) == HD_RECORD_LOOP_CERTAIN) {
            return 0;
        }
        bench_sleep_ns(10 * BENCH_MS);
    }
    fprintf(stderr,
            "hangdog-bench: the loop of the watched program was not recognised beyond doubt in %d s\n",
            SURE_MS / 1000);
    return -ETIMEDOUT;
}

void bench_program_end(struct bench_program *p) {
    if (p->in >= 0) {
        close(p->in);
        close(p->out);
    } else if (p->pid > 0) {
        kill(p->pid, SIGTERM);
    }
    while (p->pid > 0 && waitpid(p->pid, NULL, 0) < 0 && errno == EINTR) {
    }
    if (p->state != NULL) {
        munmap((void *)(uintptr_t)p->state, sizeof(struct hd_record));
    }
    if (p->spool[0] != '\0') {
        bench_folder_remove(p->spool);
    }
    *p = (struct bench_program){.in = -1, .out = -1};
}
