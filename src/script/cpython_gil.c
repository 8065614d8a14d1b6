/* SPDX-License-Identifier: MIT
 *
 * Python's global lock and its garbage collector, by the interpreter's own notes. Both may change while they
 * are read. Worker: may run while a hang is on; no allocation.
 */
#include "script/cpython.h"

uint64_t hd_cpython_main_interpreter(const struct hd_scripts *s) {
    uint64_t at = hd_cpython_word(s, s->py.runtime + s->py.layout.interpreters);
    for (unsigned i = 0; i < 32; i++) { /* the list starts with the newest */
        uint64_t next = at == 0 ? 0 : hd_cpython_word(s, at + s->py.layout.next_interpreter);
        if (next == 0) {
            break;
        }
        at = next;
    }
    return at;
}

static uint64_t gil_of(const struct hd_scripts *s, uint64_t interpreter) {
    const struct hd_cpython_layout *l = &s->py.layout;
    return l->frames != PY_ENTRY_FRAME ? s->py.runtime + l->gil : hd_cpython_word(s, interpreter + l->gil);
}

static int owner_of(const struct hd_scripts *s, uint64_t gil) {
    int32_t locked = 0;
    bool is_locked = hd_script_read(s, gil + PY_GIL_LOCKED, &locked, sizeof locked) && locked == 1;
    return is_locked ? hd_cpython_tid(s, hd_cpython_word(s, gil + PY_GIL_HOLDER)) : 0;
}

bool hd_scripts_is_gil(const struct hd_scripts *s, uint64_t futex, int *owner) {
    *owner = 0;
    if (s->py.eval == 0 || futex == 0) {
        return false;
    }
    uint64_t interpreter = hd_cpython_main_interpreter(s),
             gil = interpreter != 0 ? gil_of(s, interpreter) : 0;
    if (gil == 0 || futex < gil + PY_GIL_WAITS || futex >= gil + PY_GIL_BYTES) {
        return false;
    }
    *owner = owner_of(s, gil);
    return true;
}

bool hd_scripts_collects(const struct hd_scripts *s, int tid) {
    const struct hd_cpython_layout *l = &s->py.layout;
    int32_t collecting = 0;
    uint64_t interpreter = s->py.eval != 0 ? hd_cpython_main_interpreter(s) : 0;
    if (interpreter == 0) {
        return false;
    }
    uint64_t gc = (l->gc_of_runtime ? s->py.runtime : interpreter) + l->gc;
    uint64_t gil = gil_of(s, interpreter);
    return hd_script_read(s, gc + l->gc_collecting, &collecting, sizeof collecting) && collecting == 1 &&
           gil != 0 && owner_of(s, gil) == tid;
}
