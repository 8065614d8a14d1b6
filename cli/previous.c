/* SPDX-License-Identifier: MIT
 *
 * Ordinary code. Nothing is written for a program that never had a loop. The lock is the process's (fcntl):
 * what the runner forks has it not, and the number of a dead runner says nothing across containers and boots.
 */
#include "cli/previous.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analysis/hash.h"
#include "cli/memory_room.h"
#include "cli/program_file.h"
#include "os/os.h"
#include "report/spool_files.h"

#define LINE_BYTES PREVIOUS_LINE_BYTES
#define BOOT_BYTES 37 /* a UUID */
#define LASTS "lasts"

/* What a line says of a run that is over. */
static const char *const ends[] = {"clean", "crash", "fatal-hang", "killed", "out-of-memory"};

static void boot_id(char boot[BOOT_BYTES]) {
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (f == NULL || fscanf(f, "%36s", boot) != 1) {
        snprintf(boot, BOOT_BYTES, "-");
    }
    if (f != NULL) {
        fclose(f);
    }
}

static struct program_state state_of(const char *program) {
    char path[PATH_MAX];
    struct stat st;
    if (!program_find(program, path, sizeof path) || stat(path, &st) != 0) {
        return (struct program_state){0};
    }
    return (struct program_state){(unsigned long long)st.st_size,
                                  (unsigned long long)st.st_mtim.tv_sec * HD_NS_PER_S +
                                      (unsigned long long)st.st_mtim.tv_nsec};
}

static bool is_same(const struct program_state *a, const struct program_state *b) {
    return a->bytes == b->bytes && a->modified_ns == b->modified_ns;
}

/* What a line says of the run before; NULL: nothing that is of this form. */
static const char *read_line(const char *line, const struct program_state *program) {
    char end[16], boot[BOOT_BYTES], now[BOOT_BYTES];
    struct program_state was;
    if (strchr(line, '\n') == NULL || sscanf(line, "1 %15s %36s %llu %llu", end, boot, &was.bytes,
                                             &was.modified_ns) != 4) { /* or it was not written to its end */
        return NULL;
    }
    boot_id(now);
    if (strcmp(end, LASTS) == 0 && strcmp(boot, now) != 0) {
        return "reboot";
    }
    bool by_others = strcmp(end, LASTS) == 0 || strcmp(end, "killed") == 0;
    if (by_others && !is_same(&was, program)) {
        return "upgrade"; /* who replaces a program ends it */
    }
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        if (strcmp(end, ends[i]) == 0) {
            return ends[i];
        }
    }
    return strcmp(end, LASTS) == 0 ? "unknown" : NULL;
}

static void make_line(char line[LINE_BYTES], const struct previous *p, const char *end) {
    char boot[BOOT_BYTES];
    boot_id(boot);
    snprintf(line, LINE_BYTES, "1 %s %s %llu %llu\n", end, boot, p->program.bytes, p->program.modified_ns);
}

static void write_line(const struct previous *p, const char *line) {
    ssize_t n = (ssize_t)strlen(line);
    if (ftruncate(p->fd, 0) != 0 || pwrite(p->fd, line, (size_t)n, 0) != n || fsync(p->fd) != 0) {
        unlink(p->path); /* rather none than a wrong one */
    }
}

static void end_with(struct previous *p, const char *line) {
    write_line(p, line);
    close(p->fd);
    p->fd = -1;
}

/* False: a run that lasts has it. */
static bool lock(int fd) {
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    return fcntl(fd, F_SETLK, &whole) == 0;
}

void previous_begin(struct previous *p, const char *spool, const char *name, const char *program) {
    char line[LINE_BYTES];
    *p = (struct previous){.program = state_of(program), .oom_kills = memory_oom_kills()};
    snprintf(p->path, sizeof p->path, "%s/.%016llx.last", spool,
             (unsigned long long)hd_hash(HD_HASH_BEGIN, name, strlen(name)));
    p->fd = open(p->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (p->fd >= 0 && !lock(p->fd)) {
        close(p->fd);
        p->fd = -1;
        p->another = true;
    }
    if (p->fd >= 0) {
        ssize_t n = pread(p->fd, p->line, sizeof p->line - 1, 0);
        p->end = n > 0 ? read_line(p->line, &p->program) : NULL;
        make_line(line, p, LASTS);
        write_line(p, line);
    }
}

/* The program's own record: that of its last image. NULL: it had none. */
static const struct hd_record *last_of(const struct runner *r, bool *loop_seen) {
    const struct hd_record *last = NULL;
    *loop_seen = false;
    for (unsigned i = 0; i < HD_RECORDS; i++) {
        const struct hd_record *c = &r->record[i];
        if (atomic_load(&c->owner) != (uint32_t)r->child || c->options.of_child) {
            continue;
        }
        *loop_seen |= atomic_load(&c->loop_seen) != HD_RECORD_NO_LOOP;
        last = atomic_load(&c->superseded_ns) == 0 ? c : last;
    }
    return last;
}

static bool is_crash(int status) {
    int by = WTERMSIG(status);
    return WCOREDUMP(status) || by == SIGSEGV || by == SIGBUS || by == SIGILL || by == SIGFPE ||
           by == SIGABRT || by == SIGSYS || by == SIGTRAP;
}

/* Who is killed for want of memory, and hung before for the same reason, was killed for that. */
static const char *how(const struct previous *p, const struct runner *r, const struct hd_record *last) {
    if (!WIFSIGNALED(r->status)) {
        return "clean";
    }
    if (WTERMSIG(r->status) == SIGKILL && memory_oom_kills() > p->oom_kills) {
        return "out-of-memory";
    }
    if (is_crash(r->status)) {
        return "crash";
    }
    bool hung = last != NULL && atomic_load(&last->hang_open) == HD_RECORD_HANG_FATAL;
    return hung ? "fatal-hang" : "killed";
}

void previous_note(struct previous *p, const struct runner *r) {
    bool loop_seen;
    const struct hd_record *last = last_of(r, &loop_seen);
    if (p->fd < 0 && !p->another && loop_seen) {
        p->fd = open(p->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    }
    if (p->fd >= 0) {
        struct stat st;
        char line[LINE_BYTES];
        (void)hd_spool_allow_owner(p->fd, &st);
        make_line(line, p, how(p, r, last));
        end_with(p, line);
    }
}

void previous_restore(struct previous *p) {
    if (p->fd >= 0) {
        end_with(p, p->line);
    }
}
