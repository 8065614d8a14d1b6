/* SPDX-License-Identifier: MIT */
#include "os/linux/proc_text.h"

#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "os/os.h"

struct cursor {
    const char *p;
    const char *end;
};

static void skip_blanks(struct cursor *c) {
    while (c->p < c->end && (*c->p == ' ' || *c->p == '\t')) {
        c->p++;
    }
}

static const char *find_newline(const char *text, const char *end) {
    while (text < end && *text != '\n') {
        text++;
    }
    return text < end ? text : NULL;
}

static int digit_value(char c) {
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    if (c >= 'a' && c <= 'f') {
        return c - 'a' + 10;
    }
    return 16;
}

/* Reads a number in the given base. False: there is no number, or it overflows, or it ends where the text
 * ends and so may be truncated. */
static bool take_number(struct cursor *c, unsigned base, uint64_t *out) {
    uint64_t value = 0;
    const char *begin;

    skip_blanks(c);
    if (base == 16 && c->end - c->p > 2 && c->p[0] == '0' && c->p[1] == 'x') {
        c->p += 2;
    }
    begin = c->p;
    while (c->p < c->end && (unsigned)digit_value(*c->p) < base) {
        uint64_t next = value * base + (unsigned)digit_value(*c->p);
        if (next / base != value) {
            return false;
        }
        value = next;
        c->p++;
    }
    if (c->p == begin || c->p == c->end || (*c->p != ' ' && *c->p != '\n' && *c->p != '-')) {
        return false;
    }
    *out = value;
    return true;
}

bool hd_proc_parse_syscall(const char *text, size_t n, struct hd_proc_syscall *out) {
    static const char running[] = "running";
    struct cursor c = {text, text + n};
    struct hd_proc_syscall found = {.where = HD_PROC_BLOCKED, .nr = HD_SYSCALL_NONE};
    uint64_t nr;

    if (n >= sizeof running - 1 && memcmp(text, running, sizeof running - 1) == 0) {
        found.where = HD_PROC_RUNNING;
        *out = found;
        return true;
    }
    if (n >= 2 && text[0] == '-' && text[1] == '1') {
        c.p += 2;
    } else {
        if (!take_number(&c, 10, &nr) || nr > INT32_MAX) {
            return false;
        }
        found.nr = (int32_t)nr;
        for (unsigned i = 0; i < 6; i++) {
            if (!take_number(&c, 16, &found.args[i])) {
                return false;
            }
        }
    }
    if (!take_number(&c, 16, &found.sp) || !take_number(&c, 16, &found.pc)) {
        return false;
    }
    if (found.sp == 0 && found.pc == 0) {
        found.where = HD_PROC_ENDED;
    }
    *out = found;
    return true;
}

bool hd_proc_parse_schedstat(const char *text, size_t n, struct hd_sched *out) {
    struct cursor c = {text, text + n};
    struct hd_sched found;

    if (!take_number(&c, 10, &found.cpu_ns) || !take_number(&c, 10, &found.delay_ns) ||
        !take_number(&c, 10, &found.slices)) {
        return false;
    }
    *out = found;
    return true;
}

static bool line_value(const char *line, size_t n, const char *name, unsigned base, uint64_t *out) {
    size_t length = strlen(name);
    struct cursor c = {line + length, line + n};
    return n > length && memcmp(line, name, length) == 0 && take_number(&c, base, out);
}

bool hd_proc_parse_status(const char *text, size_t n, struct hd_proc_status *out) {
    struct hd_proc_status found = {0};
    uint64_t own = 0, shared = 0;
    uint64_t seccomp = 0, filters = 0; /* both stay 0 if a kernel without seccomp writes no lines for them */
    unsigned seen = 0;

    for (const char *end = text + n; text < end;) {
        const char *newline = find_newline(text, end);
        if (newline == NULL) {
            break;
        }
        size_t length = (size_t)(newline - text) + 1;
        seen |= line_value(text, length, "SigPnd:", 16, &own) ? 1U : 0;
        seen |= line_value(text, length, "ShdPnd:", 16, &shared) ? 2U : 0;
        seen |= line_value(text, length, "SigBlk:", 16, &found.blocked) ? 4U : 0;
        (void)line_value(text, length, "Seccomp:", 10, &seccomp);
        (void)line_value(text, length, "Seccomp_filters:", 10, &filters);
        seen |= line_value(text, length, "voluntary_ctxt_switches:", 10, &found.voluntary) ? 8U : 0;
        seen |= line_value(text, length, "nonvoluntary_ctxt_switches:", 10, &found.involuntary) ? 16U : 0;
        text = newline + 1;
    }
    if (seen != 31) {
        return false;
    }
    found.pending = own | shared;
    found.filters = seccomp == 0 ? 0 : filters == 0 ? HD_FILTERS_UNKNOWN : filters;
    *out = found;
    return true;
}

bool hd_proc_parse_mapping(const char *line, size_t n, struct hd_proc_mapping *out) {
    static const char name[] = "[stack]";
    struct cursor c = {line, line + n};
    struct hd_proc_mapping found = {0};

    if (!take_number(&c, 16, &found.start) || *c.p != '-') {
        return false;
    }
    c.p++;
    if (!take_number(&c, 16, &found.end) || c.end - c.p < 5 || found.end <= found.start) {
        return false;
    }
    found.readable = c.p[1] == 'r';
    found.writable = c.p[2] == 'w';
    while (n > 0 && line[n - 1] == '\n') {
        n--;
    }
    found.main_stack =
        n >= sizeof name - 1 && memcmp(line + n - (sizeof name - 1), name, sizeof name - 1) == 0;
    *out = found;
    return true;
}

enum hd_run_state hd_proc_run_state(char letter) {
    switch (letter) {
    case 'R':
        return HD_RUN_RUNNABLE;
    case 'D':
    case 'I':
        return HD_RUN_UNINTERRUPTIBLE;
    case 'T':
    case 't':
        return HD_RUN_STOPPED;
    case 'Z':
    case 'X':
    case 'x':
        return HD_RUN_GONE;
    default:
        return HD_RUN_BLOCKED;
    }
}

/* Copies the path from a line of the file `maps`. The path starts at the line's first slash, since no other
 * field has a slash. */
static void take_path(const char *line, const char *end, char *path, size_t bytes) {
    struct hd_text t;
    while (line < end && *line != '/') {
        line++;
    }
    hd_text_init(&t, path, bytes);
    hd_text_mem(&t, line, (size_t)(end - line));
}

int hd_proc_find_mapping(int maps_fd, uint64_t at, struct hd_proc_mapping *out, char *path, size_t bytes) {
    char text[2048];
    size_t have = 0;
    uint64_t offset = 0;
    struct hd_proc_mapping m;

    for (;;) {
        long n = hd_os.pread(maps_fd, text + have, sizeof text - have, offset);
        if (n < 0) {
            return (int)n;
        }
        if (n == 0) {
            return -ENOENT;
        }
        offset += (uint64_t)n;
        have += (size_t)n;
        const char *line = text;
        const char *newline;
        while ((newline = find_newline(line, text + have)) != NULL) {
            if (hd_proc_parse_mapping(line, (size_t)(newline - line) + 1, &m) &&
                (at != 0 ? at >= m.start && at < m.end : m.main_stack)) {
                if (path != NULL) {
                    take_path(line, newline, path, bytes);
                }
                *out = m;
                return 0;
            }
            line = newline + 1;
        }
        have -= (size_t)(line - text);
        memmove(text, line, have);
        if (have == sizeof text) {
            /* Skips a line that is longer than the buffer: the rest of the line parses as no mapping. */
            have = 0;
        }
    }
}
