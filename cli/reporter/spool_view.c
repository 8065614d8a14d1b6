/* SPDX-License-Identifier: MIT */
#include "cli/reporter/spool_view.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "cli/base/spool_folder.h"
#include "os/os.h"
#include "record/uuid.h"

#define READ_NS HD_NS_PER_S
#define ID_TIME_CHARS 13 /* "01a1fb7d-045d": milliseconds */

static bool add_watch(struct spool_view *v) {
    return inotify_add_watch(v->notify_fd, spool_folder(v->spool), IN_MOVED_TO) >= 0;
}

void spool_view_open(struct spool_view *v, const struct hd_record_options *decided,
                     void (*found)(void *ctx, const char *name), void *ctx) {
    *v = (struct spool_view){.spool = decided->spool, .decided = decided, .found = found, .ctx = ctx};
    v->notify_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (v->notify_fd >= 0 && !add_watch(v)) {
        close(v->notify_fd);
        v->notify_fd = -1;
    }
}

void spool_view_handle(struct spool_view *v) {
    char buf[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
    for (ssize_t n; v->notify_fd >= 0 && (n = read(v->notify_fd, buf, sizeof buf)) > 0;) {
        for (char *p = buf; p < buf + n;) {
            const struct inotify_event *e = (const struct inotify_event *)(void *)p;
            if (e->len > 0) {
                v->found(v->ctx, e->name);
            }
            v->lost |= (e->mask & IN_IGNORED) != 0;
            p += sizeof *e + e->len;
        }
    }
}

static int by_name(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static size_t names_from(struct spool_view *v, const char *from, char ***names) {
    size_t count = 0, capacity = 0;
    DIR *dir = opendir(spool_folder(v->spool));
    *names = NULL;
    if (dir == NULL) {
        v->unread |= errno == ENOMEM;
        return 0;
    }
    for (const struct dirent *e; (e = readdir(dir)) != NULL;) {
        if (strcmp(e->d_name, from) < 0) {
            continue;
        }
        if (count == capacity) {
            size_t more = capacity != 0 ? 2 * capacity : 64;
            char **grown = realloc(*names, more * sizeof *grown);
            if (grown == NULL) {
                v->unread = true;
                break;
            }
            *names = grown;
            capacity = more;
        }
        (*names)[count] = strdup(e->d_name);
        v->unread |= (*names)[count] == NULL;
        count += (*names)[count] != NULL;
    }
    closedir(dir);
    return count;
}

/* Since the run's start, so that ids may be older than it. */
static bool clock_went_back(const struct hd_record_options *o) {
    return hd_os_wall_ns() + HD_NS_PER_S < o->started_wall_ns + (hd_os_now_ns() - o->started_ns);
}

/* Ids begin with their time, and spools keep the reports of many runs: older names are left out. */
void spool_view_read(struct spool_view *v) {
    char from[37] = "", **names;
    if (!clock_went_back(v->decided)) {
        hd_uuid_text(v->decided->session, from);
        from[ID_TIME_CHARS] = '\0';
    }
    v->unread = false;
    size_t count = names_from(v, from, &names);
    if (count > 0) {
        qsort(names, count, sizeof *names, by_name);
    }
    for (size_t i = 0; i < count; i++) {
        v->found(v->ctx, names[i]);
        free(names[i]);
    }
    free(names);
}

uint64_t spool_view_tick(struct spool_view *v, uint64_t now_ns) {
    if (v->notify_fd < 0) {
        if (now_ns >= v->read_due_ns) {
            spool_view_read(v);
            v->read_due_ns = now_ns + READ_NS;
        }
        return v->read_due_ns;
    }
    if (v->lost) {
        v->lost = !add_watch(v);
        if (!v->lost) {
            spool_view_read(v); /* reports from before the watch */
        }
    }
    return v->lost ? now_ns + READ_NS : UINT64_MAX;
}
