/* SPDX-License-Identifier: MIT */
#include "cause/linux/control_group.h"

#include <fcntl.h>
#include <string.h>

#include "base/text.h"
#include "os/linux/proc_files.h"
#include "os/os.h"

/* Finds `list` in `groups`, which has lines such as "4:cpu,cpuacct:/a" or "0::/a". Returns the text after
 * `list`, where the group's path starts. NULL: no line contains `list`. */
static const char *group_of(const char *groups, const char *list) {
    for (const char *at = groups; *at != '\0'; at++) {
        if (hd_proc_starts_with(at, list)) {
            return at + strlen(list);
        }
    }
    return NULL;
}

static int open_in(const char *mount, const char *group, const char *file) {
    char path[512];
    struct hd_text t;
    size_t length = 0;
    while (group[length] != '\n' && group[length] != '\0') {
        length++;
    }
    hd_text_init(&t, path, sizeof path);
    hd_text_str(&t, mount);
    hd_text_mem(&t, group, length > 1 ? length : 0);
    hd_text_str(&t, file);
    return hd_os_open(AT_FDCWD, path);
}

int hd_control_group_open(const char *groups, const char *line, const char *mount, const char *file) {
    const char *group = group_of(groups, line);
    int fd = group != NULL ? open_in(mount, group, file) : -1;
    /* In a container, folder `mount` may itself be the container's control group. In that case the group's
     * path does not exist below `mount`. So the second try opens `file` in `mount` itself. */
    return group != NULL && fd < 0 ? open_in(mount, "/", file) : fd;
}

uint64_t hd_control_group_number(int fd, const char *key) {
    char text[1024];
    long n = fd >= 0 ? hd_os.pread(fd, text, sizeof text - 1, 0) : -1;
    uint64_t number = 0;
    if (n > 0) {
        text[n] = '\0';
        const char *at = hd_proc_find_line(text, key);
        if (at != NULL) {
            hd_text_take_number(at, &number);
        }
    }
    return number;
}
