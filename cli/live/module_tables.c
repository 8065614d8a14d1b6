/* SPDX-License-Identifier: MIT */
#include "cli/live/module_tables.h"

#include <unistd.h>

#include "cli/live/module_file.h"
#include "image/elf/elf.h"

static int find(struct hd_modules *m, uint64_t pc, struct hd_module *out, char *path, size_t path_bytes) {
    struct module_map *map = m->find_ctx;
    int rc = module_map_find(m, pc, out, path, path_bytes);
    for (unsigned i = 0; rc == 0 && out->eh_frame_hdr == 0 && out->eh_frame == 0; i++) {
        int fd = module_file_open(map, module_map_at(map, pc)->path, i);
        if (fd < 0) {
            break;
        }
        hd_elf_eh_frame(fd, out);
        close(fd);
    }
    return rc;
}

void module_tables_begin(struct module_map *map, struct hd_modules *m) {
    module_map_begin(map, m);
    m->find = find;
}
