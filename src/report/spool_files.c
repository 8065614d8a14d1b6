/* SPDX-License-Identifier: MIT
 *
 * Worker code: may wait for the disk; no allocation.
 */
#include "report/spool_files.h"

#include "base/text.h"
#include "os/os.h"
#include "record/uuid.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#define ID_CHARS 36
#define LEAD_NS (3600 * HD_NS_PER_S) /* a file system may have the clock of another machine */
#define DAY_NS (24 * 3600 * HD_NS_PER_S)
#define TEMP_AGE_NS (60 * HD_NS_PER_S) /* where files cannot be locked: writing a report takes less */

/* ---- names -------------------------------------------------------------------------------- */

static const char end_of[][8] = {"", ".json", ".held", ".tmp", ".open"}; /* by enum hd_spool_file */

void hd_spool_name(char name[HD_SPOOL_NAME_BYTES], const uint8_t id[HD_UUID_BYTES], enum hd_spool_file what) {
    char text[ID_CHARS + 1];
    struct hd_text t;
    hd_uuid_text(id, text);
    hd_text_init(&t, name, HD_SPOOL_NAME_BYTES);
    if (what != HD_SPOOL_REPORT) {
        hd_text_str(&t, ".");
    }
    hd_text_str(&t, text);
    hd_text_str(&t, end_of[what]);
}

static bool is_id(const char *s) {
    for (unsigned i = 0; i < ID_CHARS; i++) {
        bool dash = i == 8 || i == 13 || i == 18 || i == 23;
        bool hex = (s[i] >= '0' && s[i] <= '9') || (s[i] >= 'a' && s[i] <= 'f');
        if (dash ? s[i] != '-' : !hex) {
            return false; /* also at the end of a shorter name */
        }
    }
    return true;
}

enum hd_spool_file hd_spool_what(const char *name) {
    bool hidden = name[0] == '.';
    if (!is_id(name + hidden)) {
        return HD_SPOOL_OTHER;
    }
    const char *end = name + hidden + ID_CHARS;
    for (unsigned what = HD_SPOOL_OPEN; what > HD_SPOOL_OTHER; what--) {
        if (strcmp(end, end_of[what]) == 0 && hidden == (what != HD_SPOOL_REPORT)) {
            return (enum hd_spool_file)what;
        }
    }
    return HD_SPOOL_OTHER;
}

/* By the id in its name. The cap of reports a day does not count sessions. */
static bool is_of_session(const char *name) {
    return name[19] >= 'a'; /* 8 or 9, else (uuid.c) */
}

/* ---- walks -------------------------------------------------------------------------------- */

int hd_spool_walk(int dir_fd, int (*each)(void *ctx, enum hd_spool_file what, const char *name), void *ctx) {
    _Alignas(8) char names[4096];
    /* A new descriptor starts at the first entry. */
    int fd = hd_os.open_at(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    if (fd < 0) {
        return fd;
    }
    int result = 0;
    while (result == 0) {
        long n = hd_os.read_names(fd, names, sizeof names);
        if (n <= 0) {
            result = (int)n;
            break;
        }
        for (long at = 0; at < n && result == 0;) {
            enum hd_spool_file what = hd_spool_what(names + at);
            if (what != HD_SPOOL_OTHER) {
                result = each(ctx, what, names + at);
            }
            at += (long)strlen(names + at) + 1;
        }
    }
    hd_os_close(fd);
    return result;
}

/* When a file was written. A file dated later than now is from before the clock was set back, at an unknown
 * time: 0, so it counts as the oldest. Uses the date of the file, not of the id: the ids of one process grow
 * even when the clock is set back. */
static uint64_t written_ns(const struct stat *st, uint64_t now_ns) {
    uint64_t at_ns = hd_os_modified_ns(st);
    return at_ns > now_ns + LEAD_NS ? 0 : at_ns;
}

struct last {
    int dir_fd;
    uint64_t now_ns, since_ns;
    uint32_t count;
};

static int count_one(void *ctx, enum hd_spool_file what, const char *name) {
    struct last *last = ctx;
    struct stat st;
    if (what != HD_SPOOL_REPORT || is_of_session(name) ||
        hd_os.stat_at(last->dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
        return 0; /* a reader removed it meanwhile */
    }
    last->count += written_ns(&st, last->now_ns) > last->since_ns;
    return 0;
}

int hd_spool_count_last(struct hd_spool *s, uint64_t span_ns, uint32_t *count) {
    struct last last = {.dir_fd = s->dir_fd};
    int r = hd_os.wall_clock(&last.now_ns);
    if (r < 0) {
        return r;
    }
    /* a machine without a battery for its clock starts in 1970 */
    last.since_ns = last.now_ns > span_ns ? last.now_ns - span_ns : 0;
    r = hd_spool_walk(s->dir_fd, count_one, &last);
    if (r == 0) {
        *count = last.count + (last.now_ns - s->day_ns < span_ns ? s->day_dropped : 0);
    }
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
           hd_os_modified_ns(&st) + age_ns < sweep->now_ns;
}

static int sweep_one(void *ctx, enum hd_spool_file what, const char *name) {
    const struct sweep *sweep = ctx;
    if (what != HD_SPOOL_TEMP) {
        return 0;
    }
    /* A writer keeps its file locked, so a file that can be locked has a dead writer. Process ids do not say
     * this: they differ between containers. */
    int fd = hd_os.open_at(sweep->dir_fd, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0);
    int locked = fd < 0 ? fd : hd_os.flock(fd, LOCK_EX | LOCK_NB);
    if (locked == 0 || (locked != -EWOULDBLOCK && is_older(sweep, name, TEMP_AGE_NS))) {
        hd_os.unlink_at(sweep->dir_fd, name);
    }
    hd_os_close(fd);
    return 0;
}

void hd_spool_sweep(int dir_fd) {
    struct sweep sweep = {.dir_fd = dir_fd};
    if (hd_os.wall_clock(&sweep.now_ns) == 0) {
        (void)hd_spool_walk(dir_fd, sweep_one, &sweep); /* the next start removes what stays */
    }
}

/* ---- limits ------------------------------------------------------------------------------- */

#define BATCH 32u /* files removed after one walk */

struct trim {
    const struct hd_spool *spool;
    const char *keep;
    uint64_t now_ns, reports, bytes;
    struct stat folder;
    uint32_t count; /* the oldest ones, in order */
    struct old {
        char name[HD_SPOOL_NAME_BYTES];
        uint64_t bytes, written_ns;
    } oldest[BATCH];
};

/* Counts a removed report, and whether it was of the last day. */
static void note_dropped(struct hd_spool *s, uint64_t now_ns, const struct old *old) {
    s->dropped++;
    if (now_ns - s->day_ns >= DAY_NS) { /* also when the clock was set back */
        s->day_ns = now_ns;
        s->day_dropped = 0;
    }
    s->day_dropped += now_ns - old->written_ns < DAY_NS && !is_of_session(old->name);
}

/* Files of one tick of the file system's clock are in the order of their ids, which sort by time. */
static bool is_before(const struct old *a, const struct old *b) {
    return a->written_ns != b->written_ns ? a->written_ns < b->written_ns : strcmp(a->name, b->name) < 0;
}

static int note_one(void *ctx, enum hd_spool_file what, const char *name) {
    struct trim *trim = ctx;
    struct stat st;
    if (what != HD_SPOOL_REPORT || hd_os.stat_at(trim->spool->dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
        ((trim->folder.st_mode & S_ISVTX) != 0 && st.st_uid != trim->spool->owner)) {
        return 0; /* the folder is like /tmp: a user may remove only own files, and the limits are for these
                   */
    }
    trim->reports++;
    trim->bytes += (uint64_t)st.st_size;
    if (strcmp(name, trim->keep) == 0) {
        return 0;
    }
    struct old one = {.bytes = (uint64_t)st.st_size, .written_ns = written_ns(&st, trim->now_ns)};
    memcpy(one.name, name, strlen(name) + 1);
    uint32_t at = trim->count;
    while (at != 0 && is_before(&one, &trim->oldest[at - 1])) {
        at--;
    }
    if (at == BATCH) {
        return 0;
    }
    if (trim->count < BATCH) {
        trim->count++;
    }
    memmove(&trim->oldest[at + 1], &trim->oldest[at], (trim->count - 1 - at) * sizeof trim->oldest[0]);
    trim->oldest[at] = one;
    return 0;
}

static bool is_over(const struct hd_spool *s, uint64_t reports, uint64_t bytes) {
    return (s->max_reports != 0 && reports > s->max_reports) || (s->max_bytes != 0 && bytes > s->max_bytes);
}

int hd_spool_trim(struct hd_spool *s, const char *keep) {
    struct trim trim = {.spool = s, .keep = keep};
    if (s->max_reports == 0 && s->max_bytes == 0) {
        return 0;
    }
    int r = hd_os.wall_clock(&trim.now_ns);
    if (r == 0) {
        r = hd_os.stat_at(s->dir_fd, "", &trim.folder, 0);
    }
    if (r < 0) {
        return r;
    }
    do {
        trim.reports = trim.bytes = trim.count = 0;
        r = hd_spool_walk(s->dir_fd, note_one, &trim);
        if (r < 0) {
            return r;
        }
        for (uint32_t i = 0; i < trim.count && is_over(s, trim.reports, trim.bytes); i++) {
            r = hd_os.unlink_at(s->dir_fd, trim.oldest[i].name);
            if (r < 0 && r != -ENOENT) {
                return r;
            }
            if (r == 0) {
                note_dropped(s, trim.now_ns, &trim.oldest[i]);
            }
            trim.reports--;
            trim.bytes -= trim.oldest[i].bytes;
        }
    } while (trim.count == BATCH && is_over(s, trim.reports, trim.bytes));
    return 0;
}
