/* SPDX-License-Identifier: MIT
 *
 * Names in the spool folder, walks through it, leftovers, limits. Worker code: may wait for the disk; no
 * allocation.
 */
#include "report/spool_files.h"

#include "analysis/text.h"
#include "os/os.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#define ID_CHARS 36
#define NS_PER_DAY (86400 * HD_NS_PER_S)
#define TEMP_AGE_NS (60 * HD_NS_PER_S) /* where files cannot be locked: no report takes as long to write */

/* ---- names -------------------------------------------------------------------------------- */

void hd_spool_name(char name[HD_SPOOL_NAME_BYTES], const uint8_t id[HD_UUID_BYTES], enum hd_spool_file what) {
    char text[ID_CHARS + 1];
    struct hd_text t;
    hd_uuid_text(id, text);
    hd_text_init(&t, name, HD_SPOOL_NAME_BYTES);
    if (what != HD_SPOOL_REPORT)
        hd_text_str(&t, ".");
    hd_text_str(&t, text);
    hd_text_str(&t, what == HD_SPOOL_REPORT ? ".json" : what == HD_SPOOL_HELD ? ".held" : ".tmp");
}

static bool is_id(const char *s) {
    for (unsigned i = 0; i < ID_CHARS; i++) {
        bool dash = i == 8 || i == 13 || i == 18 || i == 23;
        bool hex = (s[i] >= '0' && s[i] <= '9') || (s[i] >= 'a' && s[i] <= 'f');
        if (dash ? s[i] != '-' : !hex)
            return false; /* also at the end of a shorter name */
    }
    return true;
}

enum hd_spool_file hd_spool_what(const char *name) {
    bool hidden = name[0] == '.';
    if (!is_id(name + hidden))
        return HD_SPOOL_OTHER;
    const char *end = name + hidden + ID_CHARS;
    if (!hidden)
        return strcmp(end, ".json") == 0 ? HD_SPOOL_REPORT : HD_SPOOL_OTHER;
    if (strcmp(end, ".held") == 0)
        return HD_SPOOL_HELD;
    return strcmp(end, ".tmp") == 0 ? HD_SPOOL_TEMP : HD_SPOOL_OTHER;
}

/* ---- walks -------------------------------------------------------------------------------- */

int hd_spool_walk(int dir_fd, int (*each)(void *ctx, enum hd_spool_file what, const char *name), void *ctx) {
    _Alignas(struct dirent64) char entries[4096];
    /* A descriptor of its own begins at the first entry. */
    int fd = hd_os.open_at(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    if (fd < 0)
        return fd;
    int result = 0;
    while (result == 0) {
        long n = hd_os.getdents(fd, entries, sizeof entries);
        if (n <= 0) {
            result = (int)n;
            break;
        }
        for (long at = 0; at < n && result == 0;) {
            const struct dirent64 *e = (const struct dirent64 *)(const void *)(entries + at);
            enum hd_spool_file what = hd_spool_what(e->d_name);
            if (what != HD_SPOOL_OTHER)
                result = each(ctx, what, e->d_name);
            at += e->d_reclen;
        }
    }
    hd_os.close(fd);
    return result;
}

static uint64_t modified_ns(const struct stat *st) {
    return (uint64_t)st->st_mtim.tv_sec * HD_NS_PER_S + (uint64_t)st->st_mtim.tv_nsec;
}

struct since {
    int dir_fd;
    uint64_t wall_ns;
    uint32_t count;
};

static int count_one(void *ctx, enum hd_spool_file what, const char *name) {
    struct since *since = ctx;
    struct stat st;
    if (what != HD_SPOOL_REPORT || hd_os.stat_at(since->dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return 0; /* a reader took it meanwhile */
    since->count += modified_ns(&st) > since->wall_ns;
    return 0;
}

int hd_spool_count_since(struct hd_spool *s, uint64_t since_wall_ns, uint32_t *count) {
    struct since since = {.dir_fd = s->dir_fd, .wall_ns = since_wall_ns};
    int r = hd_spool_walk(s->dir_fd, count_one, &since);
    if (r == 0)
        *count = since.count;
    return r;
}

/* ---- leftovers ---------------------------------------------------------------------------- */

struct sweep {
    int dir_fd;
    uint64_t now_ns;
};

static bool is_older(const struct sweep *sweep, const char *name, uint64_t age_ns) {
    struct stat st;
    return hd_os.stat_at(sweep->dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           modified_ns(&st) + age_ns < sweep->now_ns;
}

static int sweep_one(void *ctx, enum hd_spool_file what, const char *name) {
    const struct sweep *sweep = ctx;
    if (what == HD_SPOOL_HELD && is_older(sweep, name, NS_PER_DAY))
        hd_os.unlink_at(sweep->dir_fd, name);
    if (what != HD_SPOOL_TEMP)
        return 0;
    /* A writer keeps its file locked: whoever gets the lock owns a dead one. (Process numbers lie in
     * containers.) */
    int fd = hd_os.open_at(sweep->dir_fd, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0);
    int locked = fd < 0 ? fd : hd_os.flock(fd, LOCK_EX | LOCK_NB);
    if (locked == 0 || (locked != -EWOULDBLOCK && is_older(sweep, name, TEMP_AGE_NS)))
        hd_os.unlink_at(sweep->dir_fd, name);
    if (fd >= 0)
        hd_os.close(fd);
    return 0;
}

void hd_spool_sweep(int dir_fd) {
    struct sweep sweep = {.dir_fd = dir_fd};
    if (hd_os.wall_clock(&sweep.now_ns) == 0)
        (void)hd_spool_walk(dir_fd, sweep_one, &sweep); /* what stays is swept at the next start */
}

/* ---- limits ------------------------------------------------------------------------------- */

#define BATCH 32u /* removed after one walk */

struct trim {
    const struct hd_spool *spool;
    const char *keep;
    uint64_t reports, bytes;
    uint32_t count; /* the oldest ones, in order */
    struct {
        char name[HD_SPOOL_NAME_BYTES];
        uint64_t bytes;
    } oldest[BATCH];
};

/* Ids sort by time, so the names tell the age. */
static int note_one(void *ctx, enum hd_spool_file what, const char *name) {
    struct trim *trim = ctx;
    struct stat st;
    if (what != HD_SPOOL_REPORT || hd_os.stat_at(trim->spool->dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return 0;
    trim->reports++;
    trim->bytes += (uint64_t)st.st_size;
    if (strcmp(name, trim->keep) == 0)
        return 0;
    uint32_t at = trim->count;
    while (at != 0 && strcmp(name, trim->oldest[at - 1].name) < 0)
        at--;
    if (at == BATCH)
        return 0;
    if (trim->count < BATCH)
        trim->count++;
    memmove(&trim->oldest[at + 1], &trim->oldest[at], (trim->count - 1 - at) * sizeof trim->oldest[0]);
    memcpy(trim->oldest[at].name, name, strlen(name) + 1);
    trim->oldest[at].bytes = (uint64_t)st.st_size;
    return 0;
}

static bool is_over(const struct hd_spool *s, uint64_t reports, uint64_t bytes) {
    return (s->max_reports != 0 && reports > s->max_reports) || (s->max_bytes != 0 && bytes > s->max_bytes);
}

int hd_spool_trim(struct hd_spool *s, const char *keep) {
    struct trim trim;
    if (s->max_reports == 0 && s->max_bytes == 0)
        return 0;
    do {
        trim.spool = s;
        trim.keep = keep;
        trim.reports = trim.bytes = trim.count = 0;
        int r = hd_spool_walk(s->dir_fd, note_one, &trim);
        if (r < 0)
            return r;
        for (uint32_t i = 0; i < trim.count && is_over(s, trim.reports, trim.bytes); i++) {
            r = hd_os.unlink_at(s->dir_fd, trim.oldest[i].name);
            if (r < 0 && r != -ENOENT)
                return r;
            s->dropped += r == 0;
            trim.reports--;
            trim.bytes -= trim.oldest[i].bytes;
        }
    } while (trim.count == BATCH && is_over(s, trim.reports, trim.bytes));
    return 0;
}
