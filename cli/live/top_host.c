/* SPDX-License-Identifier: MIT */
#include "cli/live/top_host.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/types.h"
#include "cli/base/json_text.h"
#include "cli/base/shell_quote.h"

#define ANSWER_BYTES_MAX ((size_t)64 << 20)
#define ANSWER_S 5

/* ---- the answer ------------------------------------------------------------------------------- */

static uint64_t number(const json_t *from, const char *name) {
    json_int_t value = json_integer_value(json_object_get(from, name));
    return value > 0 ? (uint64_t)value : 0;
}

static double share_of(uint64_t part, uint64_t part_before, uint64_t all, uint64_t all_before) {
    return part >= part_before && all > all_before
               ? 100.0 * (double)(part - part_before) / (double)(all - all_before)
               : -1;
}

static const struct host_row *find(const struct top_host *h, int pid) {
    for (size_t i = 0; i < h->count; i++) {
        if (h->row[i].pid == pid) {
            return &h->row[i];
        }
    }
    return NULL;
}

static struct host_row make_row(const struct top_host *before, const json_t *one) {
    struct host_row row = {.pid = (int)number(one, "pid"),
                           .uid = (unsigned)number(one, "uid"),
                           .hangs = number(one, "hangs"),
                           .lost_ns = number(one, "hang_ns"),
                           .worst_ns = number(one, "worst_ns"),
                           .busy_ns = number(one, "busy_ns"),
                           .idle_ns = number(one, "idle_ns"),
                           .watched_ns = number(one, "watched_ns"),
                           .loops = number(one, "loops"),
                           .frozen_ns = number(one, "frozen_ns")};
    const char *place = json_text(one, "container"), *app = json_text(one, "app");
    const struct host_row *old = find(before, row.pid);
    snprintf(row.name, sizeof row.name, "%s", app[0] != '\0' ? app : json_text(one, "name"));
    snprintf(row.place, sizeof row.place, "%s", place[0] != '\0' ? place : json_text(one, "unit"));
    /* An agent that watches the process anew counts from zero. */
    row.busy_percent =
        old != NULL && row.busy_ns + row.idle_ns >= old->busy_ns + old->idle_ns
            ? share_of(row.busy_ns, old->busy_ns, row.busy_ns + row.idle_ns, old->busy_ns + old->idle_ns)
            : -1;
    return row;
}

bool top_host_take(struct top_host *h, const json_t *status) {
    const json_t *list = json_object_get(status, "processes"), *one;
    size_t i, count = json_array_size(list);
    struct host_row *row = calloc(count + 1, sizeof *row);
    if (row == NULL) {
        return false;
    }
    json_array_foreach(list, i, one) {
        row[i] = make_row(h, one);
    }
    uint64_t at_ns = number(status, "at_ns"), cpu_ns = number(status, "cpu_ns");
    struct top_host new = {.row = row,
                           .count = count,
                           .all_users = json_is_true(json_object_get(status, "all_users")),
                           .at_ns = at_ns,
                           .cpu_ns = cpu_ns,
                           .resident_bytes = number(status, "resident_bytes"),
                           .left_out = number(status, "left_out"),
                           .cpu_percent = h->at_ns != 0 ? share_of(cpu_ns, h->cpu_ns, at_ns, h->at_ns) : -1};
    snprintf(new.hook, sizeof new.hook, "%s", json_text(status, "hook"));
    snprintf(new.less, sizeof new.less, "%s", json_text(status, "less"));
    free(h->row);
    *h = new;
    return true;
}

/* ---- the socket ------------------------------------------------------------------------------- */

static int connect_to(const char *path, struct problem *why) {
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    const struct timeval patience = {.tv_sec = ANSWER_S};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    snprintf(to.sun_path, sizeof to.sun_path, "%s", path);
    if (fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) == 0 &&
        connect(fd, (struct sockaddr *)&to, sizeof to) == 0) {
        return fd;
    }
    if (errno == ENOENT || errno == ECONNREFUSED) {
        error_set(why, "cannot show the host: hangdog-agent does not run; name a process, or start it");
        error_try(why, "sudo systemctl start hangdog-agent");
    } else {
        error_set(why, "cannot reach hangdog-agent at %s: %s", path, strerror(errno));
    }
    if (fd >= 0) {
        close(fd);
    }
    return -1;
}

/* All that comes until the end. The caller frees it; NULL: an error. */
static char *receive_all(int fd, size_t *bytes) {
    size_t room = 0;
    char *text = NULL;
    *bytes = 0;
    for (;;) {
        if (*bytes == room) {
            room = room != 0 ? 2 * room : 1 << 16;
            char *more = room <= ANSWER_BYTES_MAX ? realloc(text, room) : NULL;
            if (more == NULL) {
                break;
            }
            text = more;
        }
        ssize_t n = recv(fd, text + *bytes, room - *bytes, 0);
        if (n == 0) {
            return text;
        }
        if (n < 0 && errno != EINTR) {
            break;
        }
        *bytes += n > 0 ? (size_t)n : 0;
    }
    free(text);
    return NULL;
}

bool top_host_fetch(struct top_host *h, const char *path, struct problem *why) {
    static const char request[] = "GET /status HTTP/1.1\r\nHost: localhost\r\n\r\n", blank[] = "\r\n\r\n";
    size_t bytes = 0;
    int fd = connect_to(path, why);
    if (fd < 0) {
        return false;
    }
    bool well = send(fd, request, sizeof request - 1, MSG_NOSIGNAL) == (ssize_t)(sizeof request - 1);
    char *text = well ? receive_all(fd, &bytes) : NULL;
    close(fd);
    char *body = text != NULL ? memmem(text, bytes, blank, sizeof blank - 1) : NULL;
    size_t head = body != NULL ? (size_t)(body - text) + sizeof blank - 1 : 0;
    json_t *status = body != NULL ? json_loadb(text + head, bytes - head, 0, NULL) : NULL;
    free(text);
    well = json_is_object(status) && top_host_take(h, status);
    json_decref(status);
    if (!well) {
        error_set(why, "cannot show the host: hangdog-agent gave no answer");
    }
    return well;
}

void top_host_free(struct top_host *h) {
    free(h->row);
    *h = (struct top_host){0};
}

/* ---- order ------------------------------------------------------------------------------------ */

double host_row_rate(const struct host_row *row) {
    uint64_t least_ns = 60 * HD_NS_PER_S;
    return row->watched_ns >= least_ns ? (double)row->hangs * 3600 * HD_NS_PER_S / (double)row->watched_ns
                                       : 0;
}

static enum host_order sorted_by;

static int compare_numbers(double a, double b) {
    return (a < b) - (a > b);
}

static int compare_rows(const void *a, const void *b) {
    const struct host_row *x = a, *y = b;
    int order = 0;
    if (sorted_by == HOST_BY_RATE) { /* frozen programs come first */
        order = compare_numbers((double)x->frozen_ns, (double)y->frozen_ns);
        order = order != 0 ? order : compare_numbers(host_row_rate(x), host_row_rate(y));
        order = order != 0 ? order : compare_numbers((double)x->lost_ns, (double)y->lost_ns);
    } else if (sorted_by == HOST_BY_WORST) {
        order = compare_numbers((double)x->worst_ns, (double)y->worst_ns);
    } else if (sorted_by == HOST_BY_BUSY) {
        order = compare_numbers(x->busy_percent, y->busy_percent);
    } else {
        order = strcmp(x->name, y->name);
    }
    return order != 0 ? order : (x->pid > y->pid) - (x->pid < y->pid);
}

void top_host_sort(struct top_host *h, enum host_order order) {
    sorted_by = order;
    if (h->count != 0) {
        qsort(h->row, h->count, sizeof h->row[0], compare_rows);
    }
}
