/* SPDX-License-Identifier: MIT */
#include "os/linux/proc_walk.h"

#include <fcntl.h>
#include <string.h>

#include "base/text.h"
#include "os/os.h"

bool hd_proc_walk_numbers(int dir, const char *path, uint64_t until_cpu_ns,
                          bool (*visit)(void *arg, uint64_t number), void *arg) {
    _Alignas(8) char names[1024];
    bool found = false;
    int fd = hd_os.open_at(dir, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    for (long n; fd >= 0 && !found && (n = hd_os.read_names(fd, names, sizeof names)) > 0;) {
        for (long at = 0; at < n && !found && hd_os_thread_cpu_ns() < until_cpu_ns;
             at += (long)strlen(names + at) + 1) {
            uint64_t number;
            bool all = *hd_text_take_number(names + at, &number) == '\0' && names[at] != '\0';
            found = all && visit(arg, number);
        }
        if (hd_os_thread_cpu_ns() >= until_cpu_ns) {
            break;
        }
    }
    hd_os_close(fd);
    return found;
}
