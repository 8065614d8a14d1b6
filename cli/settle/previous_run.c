/* SPDX-License-Identifier: MIT
 *
 * A program that never had a loop gets no file. While a run lasts, the runner has a lock by fcntl on the
 * program's file. The runner's children do not inherit a lock of this kind. A process id in the file could
 * name another process in another container or after a reboot, but a lock stays correct. The runner opens the
 * file after the program's start. So a slow disk does not delay the start, and the program does not inherit
 * the file's descriptor.
 */
#include "cli/settle/previous_run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/hash.h"
#include "cli/base/memory_limit.h"
#include "cli/base/spool_folder.h"
#include "os/os.h"
#include "report/spool_files.h"

#define LINE_BYTES PREVIOUS_LINE_BYTES
#define BOOT_BYTES 37 /* the size of the boot id, a UUID as text, with the NUL */
#define LASTS "lasts"
/* the line's word if SIGTERM ended the run: an upgrade, a shutdown, or another reason */
#define TERMINATED "terminated"

static void boot_id(char boot[BOOT_BYTES]) {
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (f == NULL || fscanf(f, "%36s", boot) != 1) {
        snprintf(boot, BOOT_BYTES, "-");
    }
    if (f != NULL) {
        fclose(f);
    }
}

static struct program_state state_of(const char *path) {
    struct stat st;
    if (path == NULL || stat(path, &st) != 0) {
        return (struct program_state){0};
    }
    return (struct program_state){(unsigned long long)st.st_size,
                                  (unsigned long long)st.st_mtim.tv_sec * HD_NS_PER_S +
                                      (unsigned long long)st.st_mtim.tv_nsec};
}

static bool is_same(const struct program_state *a, const struct program_state *b) {
    return a->bytes == b->bytes && a->modified_ns == b->modified_ns;
}

/* ---- the line --------------------------------------------------------------------------------- */

/* Returns the report's word for how the previous run ended, by the file's line. `program`: the present
 * state of the program's file. NULL: the line has another form. */
static const char *read_line(const char *line, const struct program_state *program) {
    static const char *const ends[] = {"clean", "crash", "fatal-hang", "killed", "out-of-memory"};
    char end[16], boot[BOOT_BYTES], now[BOOT_BYTES], *rest;
    int at = 0;
    if (sscanf(line, "1 %15s %36s %n", end, boot, &at) != 2) {
        return NULL;
    }
    struct program_state was = {.bytes = strtoull(line + at, &rest, 10)};
    was.modified_ns = strtoull(rest, &rest, 10);
    if (strcmp(rest, "\n") != 0) { /* the line is truncated */
        return NULL;
    }
    boot_id(now);
    bool lasted = strcmp(end, LASTS) == 0;
    if (lasted || strcmp(end, TERMINATED) == 0) {
        return strcmp(boot, now) != 0    ? "reboot"
               : !is_same(&was, program) ? "upgrade"
               : lasted                  ? "unknown"
                                         : "killed";
    }
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        if (strcmp(end, ends[i]) == 0) {
            return ends[i];
        }
    }
    return NULL;
}

static void make_line(char line[LINE_BYTES], const struct previous *p, const char *end) {
    char boot[BOOT_BYTES];
    boot_id(boot);
    snprintf(line, LINE_BYTES, "1 %s %s %llu %llu\n", end, boot, p->program.bytes, p->program.modified_ns);
}

static void close_file(struct previous *p) {
    close(p->fd);
    p->fd = -1;
}

/* Overwrites the line in the file, so the write needs no free space on a full disk. False: the write
 * failed, and this function has removed the file. */
static bool write_line(struct previous *p, const char *line) {
    ssize_t n = (ssize_t)strlen(line);
    if (pwrite(p->fd, line, (size_t)n, 0) != n || ftruncate(p->fd, n) != 0) {
        unlink(p->path); /* no line is better than a wrong one */
        close_file(p);
        return false;
    }
    return true;
}

/* ---- the file ---------------------------------------------------------------------------------- */

/* True: the file is a regular file of this user, and has one name. Other users may put files and links
 * into a shared spool folder, so the runner trusts no other file. */
static bool is_ours(int fd) {
    struct stat st;
    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() && st.st_nlink == 1;
}

/* Locks the file for this run. True: this run has the lock, or the file system has no locks. False:
 * another run has the lock. */
static bool lock(int fd) {
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    return fcntl(fd, F_SETLK, &whole) == 0 || (errno != EAGAIN && errno != EACCES);
}

/* Opens and locks the file at p->path. If `make`, creates the file if it is missing. Sets p->fd to -1 if
 * the open fails, the file is not this user's, or another run has the lock. */
static void take(struct previous *p, bool make) {
    p->fd = open(p->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | (make ? O_CREAT : 0), 0600);
    p->strange = p->fd < 0 ? errno != ENOENT : !is_ours(p->fd);
    p->another = p->fd >= 0 && !p->strange && !lock(p->fd);
    if (p->fd >= 0 && (p->strange || p->another)) {
        close_file(p);
    }
}

/* ---- a run ------------------------------------------------------------------------------------ */

static void set_path(struct previous *p, const char *spool, const char *name) {
    snprintf(p->path, sizeof p->path, "%s/.%016llx.last", spool_folder(spool),
             (unsigned long long)hd_hash(HD_HASH_BEGIN, name, strlen(name)));
}

void previous_prepare(struct previous *p, const char *spool, const char *name, const char *file) {
    *p = (struct previous){.fd = -1, .program = state_of(file), .oom_kills = memory_oom_kills()};
    set_path(p, spool, name);
}

void previous_begin(struct previous *p) {
    char line[LINE_BYTES];
    take(p, false);
    if (p->fd >= 0) {
        ssize_t n = pread(p->fd, p->line, sizeof p->line - 1, 0);
        p->end = n > 0 ? read_line(p->line, &p->program) : NULL;
        make_line(line, p, LASTS);
        write_line(p, line);
    }
}

void previous_forget(const char *spool, const char *name) {
    struct previous p;
    set_path(&p, spool, name);
    take(&p, false);
    if (p.fd >= 0) {
        unlink(p.path);
        close_file(&p);
    }
}

void previous_note_fatal_hang(const char *spool, const char *name) {
    struct previous p = {0};
    char line[LINE_BYTES];
    set_path(&p, spool, name);
    take(&p, true);
    if (p.fd >= 0) {
        make_line(line, &p, "fatal-hang");
        if (write_line(&p, line)) {
            close_file(&p);
        }
    }
}

/* Returns the record of the last program that the runner's child process executed; NULL: that process has
 * no record. Sets `loop_seen` to true if one of the programs that this process executed had a loop. */
static const struct hd_record *last_of(const struct run_result *r, bool *loop_seen) {
    const struct hd_record *last = NULL;
    *loop_seen = false;
    for (unsigned i = 0; i < HD_RECORDS; i++) {
        const struct hd_record *c = &r->record[i];
        if (atomic_load(&c->owner.pid) != (uint32_t)r->child || c->options.of_child) {
            continue;
        }
        *loop_seen |= atomic_load(&c->loop.certainty) != HD_RECORD_NO_LOOP;
        last = atomic_load(&c->owner.superseded_ns) == 0 ? c : last;
    }
    return last;
}

static bool is_crash(int by, bool hung) {
    /* true: a watchdog, for example systemd's, ended the hung program by SIGABRT */
    bool watchdog = by == SIGABRT && hung;
    return !watchdog && (by == SIGSEGV || by == SIGBUS || by == SIGILL || by == SIGFPE || by == SIGABRT ||
                         by == SIGSYS || by == SIGTRAP);
}

static bool was_memory_short(const struct previous *p) {
    return memory_oom_kills() > p->oom_kills + p->reporters_killed;
}

/* Returns the line's word for how the run ended. If the kernel killed the program because memory was
 * short, the word is "out-of-memory", even if the program hung. The lack of memory caused both the hang and
 * the end. */
static const char *end_of(const struct previous *p, const struct run_result *r,
                          const struct hd_record *last) {
    if (!WIFSIGNALED(r->status)) {
        return "clean";
    }
    int by = WTERMSIG(r->status);
    bool hung = last != NULL && atomic_load(&last->open.state) == HD_RECORD_HANG_FATAL;
    if (by == SIGKILL && was_memory_short(p)) {
        return "out-of-memory";
    }
    return is_crash(by, hung) ? "crash" : hung ? "fatal-hang" : by == SIGTERM ? TERMINATED : "killed";
}

void previous_note(struct previous *p, const struct run_result *r, unsigned reporters_killed) {
    p->reporters_killed = reporters_killed;
    char line[LINE_BYTES];
    bool loop_seen;
    const struct hd_record *last = last_of(r, &loop_seen);
    /* If the program exits before it has a loop, for example after --version, the file keeps the line of
     * the previous run. If a signal ended the program, an existing file gets a new line, even if the program
     * had no loop. */
    bool counts = loop_seen || (p->fd >= 0 && WIFSIGNALED(r->status));
    if (counts && p->fd < 0 && !p->another) {
        if (p->strange) {
            unlink(p->path);
        }
        /* Creates the file. If another run has created it since this run's start, and has ended, this call
         * opens that file. */
        take(p, true);
    }
    if (p->fd >= 0) {
        struct stat st;
        (void)hd_spool_allow_owner(p->fd, &st);
        make_line(line, p, end_of(p, r, last));
        if (write_line(p, counts ? line : p->line)) {
            (void)fsync(p->fd);
            close_file(p);
        }
    }
}
