/* SPDX-License-Identifier: MIT
 * Opens the process's folder in /proc. The descriptor stays valid for this process only, even if the kernel
 * reuses the id.
 */
#include "cli/live/process.h"

#include <ctype.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/script_argument.h"
#include "base/text.h"
#include "base/types.h"
#include "cli/base/path.h"
#include "cli/base/proc.h"
#include "cli/base/shell_quote.h"
#include "os/linux/proc_files.h"

static const char deleted[] = " (deleted)";

/* The path of the program's file; empty: it has none, or it may not be read. */
static void read_exe(int pid, char *path, size_t size) {
    char link[32];
    snprintf(link, sizeof link, "/proc/%d/exe", pid);
    ssize_t n = readlink(link, path, size - 1);
    path[n > 0 ? n : 0] = '\0';
    size_t length = strlen(path), end = sizeof deleted - 1;
    if (length > end && strcmp(path + length - end, deleted) == 0) {
        path[length - end] = '\0';
    }
}

/* The kernel keeps 15 characters of a name; the file has the rest. */
void live_process_name(int pid, char *name, size_t size) {
    char file[32], comm[64], path[4096];
    snprintf(file, sizeof file, "/proc/%d/comm", pid);
    long n = hd_proc_read(AT_FDCWD, file, comm, sizeof comm);
    comm[n > 0 ? n - 1 : 0] = '\0';
    read_exe(pid, path, sizeof path);
    const char *base = base_name(path);
    bool longer = comm[0] == '\0' || (strlen(comm) == 15 && strncmp(base, comm, 15) == 0);
    snprintf(name, size, "%.63s", longer ? base : comm);
}

/* Cuts the first word of a command line to the base name of a program: "nginx" of "nginx: master". A process
 * may write anything there. */
static bool name_word(const char *word, char *name, size_t size) {
    size_t n = 0;
    hd_text_base_name(name, size, word);
    while (isalnum((unsigned char)name[n]) || (name[n] != '\0' && strchr("._+-", name[n]) != NULL)) {
        n++;
    }
    name[n] = '\0';
    return n != 0 && name[0] != '.';
}

void live_process_app(const struct live_process *p, char *name, size_t size) {
    char text[1024], *argv[16] = {NULL};
    long n = hd_proc_read(p->proc_fd, "cmdline", text, sizeof text);
    char *at = text, *end = text + (n > 0 ? n : 0);
    for (unsigned i = 0; i + 1 < sizeof argv / sizeof argv[0] && at < end; i++) {
        argv[i] = at;
        at += strnlen(at, (size_t)(end - at)) + 1;
    }
    const char *script = argv[0] != NULL ? hd_script_argument(argv) : NULL;
    bool named = (script != NULL && name_word(script, name, size)) ||
                 (argv[0] != NULL && name_word(argv[0], name, size));
    if (!named && !name_word(p->executable, name, size)) {
        snprintf(name, size, "%d", p->pid);
    }
}

/* ---- why it cannot be read ------------------------------------------------------------------ */

static const char *number_in(const char *status, const char *key) {
    const char *at = hd_proc_find_line(status, key);
    return at != NULL ? at + strspn(at, " \t") : "";
}

static int yama_scope(void) {
    char text[16];
    return hd_proc_read(AT_FDCWD, "/proc/sys/kernel/yama/ptrace_scope", text, sizeof text) > 0 ? atoi(text)
                                                                                               : 0;
}

static void say_denied(const struct live_process *p, struct problem *why) {
    int scope = yama_scope();
    if (geteuid() != 0) {
        error_set(why, "cannot %s process %d: %s", p->command->verb, p->pid,
                  p->uid != geteuid() ? "it needs root or the same user"
                  : scope > 0         ? "kernel.yama.ptrace_scope allows only root"
                                      : "its memory is closed to its own user");
        error_try(why, "sudo %s %s %d", shell_own_command(), p->command->name, p->pid);
    } else if (scope == 3) {
        error_set(why, "cannot %s process %d: kernel.yama.ptrace_scope is 3 until the next boot",
                  p->command->verb, p->pid);
    } else if ((proc_number(0, "CapEff:", 16) >> 19 & 1) != 0) { /* CAP_SYS_PTRACE */
        error_set(why, "cannot %s process %d: the system forbids it, in spite of CAP_SYS_PTRACE",
                  p->command->verb, p->pid);
    } else {
        error_set(why, "cannot %s process %d: CAP_SYS_PTRACE is missing here", p->command->verb, p->pid);
        error_try(why, "docker run --cap-add SYS_PTRACE ...");
    }
}

/* A program of another width or machine, as its file says. */
static bool is_foreign(const struct live_process *p, struct problem *why) {
    char path[32];
    Elf64_Ehdr e;
    snprintf(path, sizeof path, "/proc/%d/exe", p->pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t n = fd >= 0 ? pread(fd, &e, sizeof e, 0) : -1;
    if (fd >= 0) {
        close(fd);
    }
    if (n < (ssize_t)sizeof(Elf32_Ehdr) || memcmp(e.e_ident, ELFMAG, SELFMAG) != 0) {
        return false;
    }
    if (e.e_ident[EI_CLASS] != ELFCLASS64) {
        error_set(why, "cannot %s process %d: it is a 32-bit program", p->command->verb, p->pid);
        error_try(why, "eu-stack -p %d", p->pid);
        return true;
    }
    return false;
}

/* ---- opening -------------------------------------------------------------------------------- */

static int open_folder(int pid, struct live_process *p, struct problem *why) {
    char path[32];
    snprintf(path, sizeof path, "/proc/%d", pid);
    p->proc_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (p->proc_fd < 0) {
        error_set(why,
                  errno == ENOENT ? "cannot %s process %d: there is no such process"
                                  : "cannot %s process %d: its folder of /proc cannot be opened",
                  p->command->verb, pid);
    }
    return p->proc_fd;
}

/* From Linux 6.16 on a thread's end is known before the kernel has freed the process's memory. Meanwhile the
 * state is that of a running process. */
bool live_process_lives(const struct live_process *p) {
    enum {
        EXITING = 0x4
    }; /* PF_EXITING in the kernel's sched.h */
    struct hd_proc_stat stat = hd_proc_stat_read(p->proc_fd, "stat");
    return stat.alive && (stat.flags & EXITING) == 0;
}

bool process_is_of_kernel(int pid) {
    enum {
        OF_KERNEL = 0x00200000
    }; /* PF_KTHREAD in the kernel's sched.h */
    return (proc_stat(pid).flags & OF_KERNEL) != 0;
}

/* 0; -1: nothing of it can be read, whatever one's rights. */
static int check(struct live_process *p, struct problem *why) {
    char status[4096];
    if (hd_proc_read(p->proc_fd, "status", status, sizeof status) <= 0) {
        error_set(why, "cannot %s process %d: it has just ended", p->command->verb, p->pid);
        return -1;
    }
    p->uid = (uid_t)atol(number_in(status, "Uid:"));
    if (number_in(status, "State:")[0] == 'Z') {
        error_set(why,
                  "cannot %s process %d: it has ended, and its parent, process %d, has not waited for it yet",
                  p->command->verb, p->pid, atoi(number_in(status, "PPid:")));
        return -1;
    }
    if (process_is_of_kernel(p->pid)) {
        error_set(why, "cannot %s process %d: it is a thread of the kernel; try: sudo cat /proc/%d/stack",
                  p->command->verb, p->pid, p->pid);
        return -1;
    }
    if (hd_proc_find_line(status, "VmSize:") == NULL) {
        error_set(why, "cannot %s process %d: it has just ended", p->command->verb, p->pid);
        return -1;
    }
    return is_foreign(p, why) ? -1 : 0;
}

int live_process_open(int pid, const struct live_command *command, struct live_process *p,
                      struct problem *why) {
    char path[4096];
    *p = (struct live_process){.command = command, .pid = pid, .proc_fd = -1, .mem_fd = -1};
    int leader = (int)proc_number(pid, "Tgid:", 10);
    p->pid = leader != 0 ? leader : pid;
    if (open_folder(p->pid, p, why) < 0 || check(p, why) != 0) {
        live_process_close(p);
        return -1;
    }
    p->mem_fd = openat(p->proc_fd, "mem", O_RDONLY | O_CLOEXEC);
    if (p->mem_fd < 0) {
        say_denied(p, why);
        live_process_close(p);
        return -1;
    }
    int own = (int)proc_number(p->pid, "NSpid:", 10);
    p->own_pid = own != 0 ? own : p->pid;
    p->started_wall_ns = proc_started_wall_ns(p->pid);
    live_process_name(p->pid, p->name, sizeof p->name);
    read_exe(p->pid, path, sizeof path);
    snprintf(p->executable, sizeof p->executable, "%.63s", base_name(path));
    return 0;
}

void live_process_close(struct live_process *p) {
    int *files[] = {&p->proc_fd, &p->mem_fd};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        if (*files[i] >= 0) {
            close(*files[i]);
        }
        *files[i] = -1;
    }
}
