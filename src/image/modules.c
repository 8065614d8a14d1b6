/* SPDX-License-Identifier: MIT
 *
 * The table of modules: what was found once is found again without asking the loader.
 * Worker: may run while a hang is on, no allocation.
 */
#include "image/modules.h"

#include <errno.h>
#include <string.h>

static bool contains(const struct hd_module *m, uint64_t pc) {
    return pc - m->lo < m->hi - m->lo;
}

/* Position in `order` of the first module that begins above pc. */
static uint32_t above(const struct hd_modules *m, uint64_t pc) {
    uint32_t lo = 0, n = m->count - m->gone;
    while (n > 0) {
        uint32_t half = n / 2;
        if (m->module[m->order[lo + half]].lo <= pc) {
            lo += half + 1;
            n -= half + 1;
        } else {
            n = half;
        }
    }
    return lo;
}

/* Asks the finder, and remembers. */
static int learn(struct hd_modules *m, uint64_t pc) {
    struct hd_module found;
    memset(&found, 0, sizeof found);
    char *path = m->paths + m->path_bytes;
    size_t room = HD_MODULE_PATHS_BYTES - m->path_bytes;
    if (room == 0) { /* an empty path: the last byte is always 0 */
        path = NULL;
        found.path = HD_MODULE_PATHS_BYTES - 1;
    } else {
        path[0] = 0;
        found.path = m->path_bytes;
    }
    int rc = m->find(m, pc, &found, path, room);
    if (rc != 0) {
        return -ENOENT;
    }
    if (!contains(&found, pc)) {
        return -ENOENT;
    }
    if (m->count == HD_MODULES_MAX) {
        m->lost++;
        return -ENOENT;
    }
    if (room != 0) {
        path[room - 1] = 0;
        m->path_bytes += (uint32_t)strlen(path) + 1;
    }
    uint32_t index = m->count++, at;
    m->module[index] = found;
    for (at = index - m->gone; at > 0 && m->module[m->order[at - 1]].lo > found.lo; at--) {
        m->order[at] = m->order[at - 1];
    }
    m->order[at] = (uint16_t)index;
    m->last = index;
    return (int)index;
}

int hd_modules_at(struct hd_modules *m, uint64_t pc) {
    if (m->last < m->count && contains(&m->module[m->last], pc)) {
        return (int)m->last;
    }
    uint32_t next = above(m, pc);
    if (next > 0 && contains(&m->module[m->order[next - 1]], pc)) {
        m->last = m->order[next - 1];
        return (int)m->last;
    }
    return learn(m, pc);
}

int hd_modules_at_or_gone(struct hd_modules *m, uint64_t pc) {
    int index = hd_modules_at(m, pc);
    for (uint32_t i = m->count; index < 0 && i-- > 0;) {
        if (contains(&m->module[i], pc)) {
            index = (int)i;
        }
    }
    return index;
}

void hd_modules_reset(struct hd_modules *m) {
    m->resets++;
    m->count = 0;
    m->gone = 0;
    m->path_bytes = 0;
    m->last = 0;
}

static bool is_same(struct hd_modules *m, const struct hd_module *old) {
    struct hd_module now;
    memset(&now, 0, sizeof now);
    return m->find(m, old->lo, &now, NULL, 0) == 0 && now.lo == old->lo && now.hi == old->hi &&
           now.bias == old->bias && now.handle == old->handle && now.eh_frame_hdr == old->eh_frame_hdr &&
           now.build_id_bytes == old->build_id_bytes &&
           memcmp(now.build_id, old->build_id, sizeof now.build_id) == 0;
}

bool hd_modules_still_valid(struct hd_modules *m, bool keep) {
    uint32_t there = m->count - m->gone, still = 0;
    for (uint32_t i = 0; i < there; i++) {
        uint16_t index = m->order[i];
        m->module[index].gone = !is_same(m, &m->module[index]);
        if (!m->module[index].gone) {
            m->order[still++] = index;
        }
    }
    m->gone = m->count - still;
    keep = keep && m->count < HD_MODULES_MAX && m->path_bytes < HD_MODULE_PATHS_BYTES;
    if (m->gone != 0 && !keep) {
        hd_modules_reset(m);
    } else if (still != there) {
        m->resets++;
        m->last = HD_MODULES_MAX;
    } else {
        return true;
    }
    return false;
}

/* python3.11, perl: what lies in the folder of that name is a library of the language. */
static bool is_interpreter(const char *name) {
    static const char begins[][8] = {"python", "perl", "ruby", "node", "php", "lua", "java", "tcl", "guile"};
    for (size_t i = 0; i < sizeof begins / sizeof begins[0]; i++) {
        if (strncmp(name, begins[i], strlen(begins[i])) == 0) {
            return true;
        }
    }
    return false;
}

/* "gimp" of the program gimp-2.10 too. */
static bool is_named_like(const char *folder, size_t bytes, const char *program) {
    return bytes > 2 && strncmp(folder, program, bytes) == 0 &&
           (program[bytes] == '\0' || program[bytes] == '-' || program[bytes] == '.' ||
            program[bytes] == '_' || (program[bytes] >= '0' && program[bytes] <= '9'));
}

bool hd_module_path_is_of_program(const char *path, const char *program) {
    bool found = false;
    size_t start = 0;
    for (size_t i = 0; path[i] != '\0'; i++) {
        if (path[i] == '/') {
            found |= is_named_like(path + start, i - start, program);
            start = i + 1;
        }
    }
    return found && program[0] != '\0' && !is_interpreter(program);
}

bool hd_module_is_system(const struct hd_modules *m, uint32_t index) {
    return !m->module[index].main_program && hd_module_path_is_system(hd_module_path(m, index));
}
