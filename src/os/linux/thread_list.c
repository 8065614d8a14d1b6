/* SPDX-License-Identifier: MIT */
#include "os/thread_list.h"

#include <fcntl.h>
#include <string.h>

#include "base/text.h"
#include "os/linux/proc_files.h"

void hd_thread_list_start(struct hd_thread_list *t, int proc_fd) {
    t->fd = hd_os.open_at(proc_fd, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    t->bytes = t->at = 0;
}

hd_thread_id hd_thread_list_next(struct hd_thread_list *t) {
    while (t->fd >= 0) {
        if (t->at == t->bytes) {
            t->at = 0;
            t->bytes = hd_os.read_names(t->fd, t->entries, sizeof t->entries);
            if (t->bytes <= 0) {
                hd_thread_list_end(t);
                break;
            }
        }
        const char *name = t->entries + t->at;
        uint64_t tid;
        hd_text_take_number(name, &tid); /* the number is 0 for "." and "..", which are no threads */
        t->at += (long)strlen(name) + 1;
        if (tid != 0) {
            return hd_thread_id_of(tid);
        }
    }
    return HD_THREAD_ID_NONE;
}

void hd_thread_list_end(struct hd_thread_list *t) {
    hd_os_close(t->fd);
    t->fd = -1;
}

void hd_thread_name(int proc_fd, hd_thread_id thread, char *name, size_t size) {
    char comm[32];
    long n = hd_proc_read_task(proc_fd, hd_thread_id_tid(thread), "comm", comm, sizeof comm);
    n = n > 0 ? n - 1 : 0; /* drops the newline at the end of the thread's file comm */
    n = (size_t)n < size ? n : (long)size - 1;
    memcpy(name, comm, (size_t)n);
    name[n] = '\0';
}
