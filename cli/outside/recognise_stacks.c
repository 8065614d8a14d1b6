/* SPDX-License-Identifier: MIT */
#include "cli/outside/recognise_stacks.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "capture/capture.h"
#include "cli/live/module_tables.h"
#include "os/linux/proc_text.h"
#include "os/os.h"
#include "recognise/wait_stack.h"
#include "unwind/unwind.h"

#define PROCESSES 4u                /* cached ones */
#define FRAMES_MAX 1024u            /* of a deeper stack the middle is left out */
#define COPY_BYTES (64u << 10)      /* of a stack that is read while its thread is blocked */
#define MAP_NS (200 * HD_NS_PER_MS) /* for which a list of mappings counts as new: sights come in groups */
#define REST_NS (5 * HD_NS_PER_S)

struct tables {
    const struct live_process *process; /* NULL: not in use */
    uint64_t used_ns, map_ns;
    struct module_map map;
    struct hd_modules modules;
    struct hd_functions known;
    struct hd_unwinder *unwinder;
};

struct outside_stacks {
    struct tables *tables[PROCESSES];
    struct hd_frame frames[FRAMES_MAX];
    uint8_t copy[COPY_BYTES];
};

struct outside_stacks *outside_stacks_create(void) {
    return calloc(1, sizeof(struct outside_stacks));
}

static void drop(struct outside_stacks *stacks, unsigned i) {
    struct tables *t = stacks->tables[i];
    if (t != NULL) {
        module_map_free(&t->map);
        free(t->unwinder);
        free(t);
        stacks->tables[i] = NULL;
    }
}

void outside_stacks_destroy(struct outside_stacks *stacks) {
    for (unsigned i = 0; stacks != NULL && i < PROCESSES; i++) {
        drop(stacks, i);
    }
    free(stacks);
}

void outside_stacks_forget(struct outside_stacks *stacks, const struct live_process *p) {
    for (unsigned i = 0; i < PROCESSES; i++) {
        if (stacks->tables[i] != NULL && stacks->tables[i]->process == p) {
            drop(stacks, i);
        }
    }
}

void outside_stacks_rest(struct outside_stacks *stacks, uint64_t now_ns) {
    bool dropped = false;
    for (unsigned i = 0; i < PROCESSES; i++) {
        if (stacks->tables[i] != NULL && now_ns - stacks->tables[i]->used_ns > REST_NS) {
            drop(stacks, i);
            dropped = true;
        }
    }
    if (dropped) {
        malloc_trim(0); /* the tables of a large process are some MB */
    }
}

/* ---- the tables of a process -------------------------------------------------------------------- */

static struct tables *new_tables(const struct live_process *p) {
    struct tables *t = calloc(1, sizeof *t);
    struct hd_unwinder *u = calloc(1, hd_unwinder_bytes());
    if (t == NULL || u == NULL) {
        free(t);
        free(u);
        return NULL;
    }
    t->process = p;
    t->unwinder = u;
    return t;
}

/* Returns the tables of the process. Makes new ones in the place of the oldest. NULL: no memory. */
static struct tables *tables_of(struct outside_stacks *stacks, const struct live_process *p) {
    unsigned oldest = 0;
    for (unsigned i = 0; i < PROCESSES; i++) {
        struct tables *t = stacks->tables[i];
        if (t != NULL && t->process == p) {
            return t;
        }
        const struct tables *old = stacks->tables[oldest];
        if (old != NULL && (t == NULL || t->used_ns < old->used_ns)) {
            oldest = i;
        }
    }
    drop(stacks, oldest);
    return stacks->tables[oldest] = new_tables(p);
}

/* The process may have loaded modules since the last sight. */
static int read_map(struct tables *t, uint64_t now_ns) {
    struct module_map map;
    t->used_ns = now_ns;
    if (t->map_ns != 0 && now_ns - t->map_ns < MAP_NS) {
        return 0;
    }
    int rc = module_map_read(&map, t->process);
    if (rc != 0) {
        module_map_free(&map);
        return rc;
    }
    bool same = t->map_ns != 0 && module_map_has_files_of(&map, &t->map);
    module_map_free(&t->map);
    t->map = map;
    t->map_ns = now_ns;
    if (!same) {
        module_tables_begin(&t->map, &t->modules);
        hd_unwinder_init(t->unwinder, &t->modules);
        t->known = (struct hd_functions){.count = 0};
    }
    return 0;
}

/* ---- the copy of a stack ------------------------------------------------------------------------ */

/* True: the capture is of the wait. The program may have moved what the arguments point to. */
static bool is_of(const struct hd_capture *c, const struct outside_wait *w) {
    bool same_site = c->syscall_nr == w->nr && c->regs.sp == w->regs.sp && c->regs.pc == w->regs.pc;
    return c->way == HD_WAY_FROZEN && same_site;
}

int outside_stacks_copy(struct outside_stacks *stacks, struct outside_wait *w) {
    struct hd_target target = {.capacity = COPY_BYTES};
    struct hd_capture c = {.stack = NULL};
    int rc = hd_capture_process_open(w->process->proc_fd, w->process->pid);
    if (rc == 0) {
        rc = hd_target_open(&target, hd_thread_id_of((uint64_t)w->tid));
        rc = rc == 0 ? hd_capture_frozen(&target, stacks->copy, &c) : rc;
        hd_target_close(&target);
    }
    hd_capture_files_close();
    if (rc != 0 || !is_of(&c, w)) {
        return rc != 0 ? rc : -EAGAIN;
    }
    w->regs = c.regs;
    memcpy(w->args, c.syscall_args, sizeof w->args);
    w->stack = c.stack;
    w->stack_addr = c.stack_addr;
    w->stack_bytes = c.stack_bytes;
    return 0;
}

/* ---- the frames --------------------------------------------------------------------------------- */

/* True: the main thread is not on its own stack, but on a coroutine's. Of another thread that is not known.
 */
static bool is_coroutine(const struct outside_wait *w) {
    struct hd_proc_mapping stack;
    int fd = w->tid == w->process->pid ? hd_os_open(w->process->proc_fd, "maps") : -1;
    bool is_found = fd >= 0 && hd_proc_find_mapping(fd, 0, &stack, NULL, 0) == 0;
    hd_os_close(fd);
    return is_found && (w->regs.sp < stack.start || w->regs.sp >= stack.end);
}

int outside_stacks_read(struct outside_stacks *stacks, const struct outside_wait *w,
                        struct hd_loop_option *option, struct hd_wait_seen *seen) {
    struct tables *t = tables_of(stacks, w->process);
    int rc = t != NULL ? read_map(t, hd_os_now_ns()) : -ENOMEM;
    if (rc != 0) {
        return rc;
    }
    struct hd_walk walk;
    hd_unwind(t->unwinder, &w->regs, w->stack, w->stack_addr, w->stack_bytes, 0, stacks->frames, FRAMES_MAX,
              &walk);
    /* The copies of two sights may start at different addresses below the stack pointer. */
    uint32_t below = (uint32_t)(w->regs.sp - w->stack_addr);
    for (uint32_t i = 0; i < walk.count; i++) {
        stacks->frames[i].at -= below;
    }
    uint32_t caller = hd_loop_option_caller(&t->modules, stacks->frames, walk.count);
    caller = caller < walk.count ? caller : walk.count > 1; /* a static program is one module */
    const struct hd_wait_stack stack = {.frames = stacks->frames,
                                        .walk = &walk,
                                        .copied_from = w->regs.sp,
                                        .caller_sp = w->regs.sp + stacks->frames[caller].at,
                                        .coroutine = is_coroutine(w)};
    hd_wait_stack_read(&stack, &t->modules, &t->known, option, seen);
    return 0;
}
