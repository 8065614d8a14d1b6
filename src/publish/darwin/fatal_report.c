/* SPDX-License-Identifier: MIT
 *
 * The writer puts kind, duration and "complete" into the first bytes of a report. So these bytes are changed,
 * and the rest is copied as it is.
 */
#include "publish/darwin/fatal_report.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>

#include "base/text.h"
#include "os/os.h"
#include "report/spool_files.h"

#define HEAD_BYTES 1024u
#define KIND "\"kind\":\""
#define DURATION "\"duration_ns\":"
#define OPEN "\"complete\":false"

static int write_all(int fd, const char *bytes, size_t n) {
    while (n != 0) {
        long written = hd_os.write(fd, bytes, n);
        if (written == -EINTR) {
            continue;
        }
        if (written <= 0) {
            return written < 0 ? (int)written : -EIO;
        }
        bytes += written;
        n -= (size_t)written;
    }
    return 0;
}

/* Makes the new head. Returns the first byte of `head` that comes unchanged behind it; NULL: the text is not
 * the head of an open hang's report. */
static const char *change_head(const char *head, uint64_t duration_ns, struct hd_text *out) {
    const char *kind = strstr(head, KIND), *duration = strstr(head, DURATION), *open = strstr(head, OPEN);
    const char *kind_end = kind != NULL ? strchr(kind + strlen(KIND), '"') : NULL;
    if (kind_end == NULL || duration == NULL || open == NULL || duration < kind_end || open < duration) {
        return NULL;
    }
    uint64_t before;
    const char *rest = hd_text_take_number(duration + strlen(DURATION), &before);
    hd_text_mem(out, head, (size_t)(kind - head));
    hd_text_str(out, KIND "fatal-hang");
    hd_text_mem(out, kind_end, (size_t)(duration - kind_end));
    hd_text_str(out, DURATION);
    hd_text_u64(out, duration_ns > before ? duration_ns : before);
    return rest;
}

static int copy_changed(int from, int to, uint64_t duration_ns) {
    char head[HEAD_BYTES + 1], changed[HEAD_BYTES + 64];
    struct hd_text out;
    long n = hd_os.read(from, head, HEAD_BYTES);
    if (n <= 0) {
        return n < 0 ? (int)n : -EINVAL;
    }
    head[n] = '\0';
    hd_text_init(&out, changed, sizeof changed);
    const char *rest = change_head(head, duration_ns, &out);
    if (rest == NULL) {
        return -EINVAL;
    }
    int rc = write_all(to, changed, out.used);
    rc = rc == 0 ? write_all(to, rest, (size_t)(head + n - rest)) : rc;
    while (rc == 0 && (n = hd_os.read(from, head, HEAD_BYTES)) > 0) {
        rc = write_all(to, head, (size_t)n);
    }
    return rc != 0 ? rc : n < 0 ? (int)n : hd_os.fsync(to);
}

int hd_fatal_report_finish(int dir_fd, const uint8_t id[HD_UUID_BYTES], uint64_t duration_ns) {
    char name[HD_SPOOL_NAME_BYTES], temp[HD_SPOOL_NAME_BYTES], marker[HD_SPOOL_NAME_BYTES];
    hd_spool_name(name, id, HD_SPOOL_REPORT);
    hd_spool_name(temp, id, HD_SPOOL_TEMP);
    hd_spool_name(marker, id, HD_SPOOL_OPEN);
    int from = hd_os.open_at(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC, 0);
    if (from < 0) {
        return from;
    }
    int to = hd_os.open_at(dir_fd, temp, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    int rc = to < 0 ? to : hd_os.flock(to, LOCK_EX | LOCK_NB); /* a sweep must not remove it */
    if (rc == 0) {
        rc = copy_changed(from, to, duration_ns);
        rc = rc == 0 ? hd_os.rename_at(dir_fd, temp, name) : rc;
        if (rc == 0) {
            (void)hd_os.unlink_at(dir_fd, marker);
        } else {
            (void)hd_os.unlink_at(dir_fd, temp);
        }
    }
    hd_os_close(to);
    hd_os_close(from);
    return rc;
}
