/* SPDX-License-Identifier: MIT */
#include "os/linux/proc_files.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/text.h"
#include "os/os.h"

/* Writes the texts `before` and `number`, a slash, and the text `file`. */
static void put_path(char *path, size_t size, const char *before, uint64_t number, const char *file) {
    struct hd_text t;
    hd_text_init(&t, path, size);
    hd_text_str(&t, before);
    hd_text_u64(&t, number);
    hd_text_str(&t, "/");
    hd_text_str(&t, file);
}

void hd_proc_task_path(char *path, size_t size, int tid, const char *file) {
    put_path(path, size, "task/", (uint64_t)tid, file);
}

void hd_proc_task_fd_path(char *path, size_t size, int tid, const char *folder, int fd) {
    char file[24];
    struct hd_text t;
    hd_text_init(&t, file, sizeof file);
    hd_text_str(&t, folder);
    hd_text_str(&t, "/");
    hd_text_i64(&t, fd);
    hd_proc_task_path(path, size, tid, file);
}

void hd_proc_process_path(char *path, size_t size, uint64_t pid, const char *file) {
    put_path(path, size, "../", pid, file);
}

int hd_proc_open_own_task(int tid, const char *file, int flags) {
    static const char own[] = "/proc/self/";
    char path[64];
    memcpy(path, own, sizeof own);
    hd_proc_task_path(path + sizeof own - 1, sizeof path - sizeof own + 1, tid, file);
    return hd_os.open_at(AT_FDCWD, path, flags, 0);
}

long hd_proc_read(int dir, const char *path, char *text, size_t size) {
    text[0] = '\0';
    int fd = hd_os_open(dir, path);
    if (fd < 0) {
        return fd;
    }
    long n = hd_os.read(fd, text, size - 1);
    hd_os_close(fd);
    text[n > 0 ? n : 0] = '\0';
    return n;
}

long hd_proc_read_task(int proc_fd, int tid, const char *file, char *text, size_t size) {
    char path[48];
    hd_proc_task_path(path, sizeof path, tid, file);
    return hd_proc_read(proc_fd, path, text, size);
}

bool hd_proc_starts_with(const char *s, const char *prefix) {
    return strncmp(s, prefix, strlen(prefix)) == 0;
}

const char *hd_proc_find_line(const char *text, const char *key) {
    for (const char *p = text; *p != '\0'; p++) {
        if ((p == text || p[-1] == '\n') && hd_proc_starts_with(p, key)) {
            return p + strlen(key);
        }
    }
    return NULL;
}

uint64_t hd_proc_count_listed(const char *list) {
    uint64_t count = 0, first, last;
    for (; *list >= '0' && *list <= '9'; list += *list == ',') {
        list = hd_text_take_number(list, &first);
        last = first;
        if (*list == '-') {
            list = hd_text_take_number(list + 1, &last);
        }
        count += last - first + 1;
    }
    return count;
}

/* Since Linux 6.2, the size of the folder /proc/PID/task/TID/fd is the number of the thread's open
 * descriptors. On an older kernel the size is 0, so this function counts the folder's entries. */
long hd_proc_open_count(int proc_fd, int tid) {
    char path[48];
    struct stat st;
    hd_proc_task_path(path, sizeof path, tid, "fd");
    if (hd_os.stat_at(proc_fd, path, &st, 0) != 0) {
        return -1;
    }
    long count = (long)st.st_size;
    if (count == 0) {
        _Alignas(8) char names[1024];
        int fd = hd_os.open_at(proc_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
        long bytes;
        while (fd >= 0 && count <= HD_FEW_OPEN && (bytes = hd_os.read_names(fd, names, sizeof names)) > 0) {
            for (long at = 0; at < bytes; at += (long)strlen(names + at) + 1) {
                count += names[at] != '.';
            }
        }
        hd_os_close(fd);
    }
    return count;
}

long hd_proc_read_epoll(int proc_fd, int tid, int epoll, char *text, size_t size) {
    char path[48];
    hd_proc_task_fd_path(path, sizeof path, tid, "fdinfo", epoll);
    text[0] = '\0';
    int fd = hd_os_open(proc_fd, path);
    /* The count of descriptors comes just before the read, so that the thread can open only few descriptors
     * between the two. */
    long count = fd >= 0 ? hd_proc_open_count(proc_fd, tid) : -1;
    long n = count >= 0 && count <= HD_FEW_OPEN ? hd_os.read(fd, text, size - 1) : -1;
    hd_os_close(fd);
    text[n > 0 ? n : 0] = '\0';
    return n;
}
