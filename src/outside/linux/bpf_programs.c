/* SPDX-License-Identifier: MIT */
#include "outside/linux/bpf_programs.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "os/syscall_table.h"
#include "outside/linux/bpf/slot.h"
#include "waits.skel.h"

#define INITIAL_NAMESPACE 0xEFFFFFFCU /* the kernel's PROC_PID_INIT_INO */
#define SLOTS_MORE 2048u
#define SLOTS_MAX 65536u

uint8_t hd_programs_call_class(int32_t nr) {
    static const struct {
        char name[16];
        uint8_t class;
    } calls[] = {
        {"epoll_wait", HD_CALL_EPOLL_MS},     {"epoll_pwait", HD_CALL_EPOLL_MS},
        {"epoll_pwait2", HD_CALL_EPOLL_AT},   {"poll", HD_CALL_POLL_MS},
        {"ppoll", HD_CALL_POLL_AT},           {"select", HD_CALL_SELECT_AT},
        {"pselect6", HD_CALL_SELECT_AT},      {"io_uring_enter", HD_CALL_URING},
        {"restart_syscall", HD_CALL_RESTART},
    };
    const char *name = hd_syscall_name(nr);
    for (size_t i = 0; name != NULL && i < sizeof calls / sizeof calls[0]; i++) {
        if (strcmp(name, calls[i].name) == 0) {
            return calls[i].class;
        }
    }
    return HD_CALL_NO_WAIT;
}

/* One user has at most half of them, and may have all threads of the host. Others begin while the watch
 * lasts. */
static uint32_t slots_wanted(void) {
    unsigned long threads = 0;
    char line[128] = "";
    FILE *f = fopen("/proc/loadavg", "re"); /* "0.20 0.18 0.12 1/80 11206": 80 threads */
    if (f != NULL) {
        const char *slash = fgets(line, sizeof line, f) != NULL ? strchr(line, '/') : NULL;
        threads = slash != NULL ? strtoul(slash + 1, NULL, 10) : 0;
        fclose(f);
    }
    unsigned long wanted = 2 * threads + SLOTS_MORE;
    return wanted < SLOTS_MAX ? (uint32_t)wanted : SLOTS_MAX;
}

/* The namespace whose numbers this process's /proc has; 0: the initial one. */
static unsigned own_namespace(void) {
    struct stat st;
    if (stat("/proc/self/ns/pid", &st) != 0 || st.st_ino == INITIAL_NAMESPACE) {
        return 0;
    }
    return (unsigned)st.st_ino;
}

static bool is_on_entry(const struct bpf_program *p) {
    return bpf_program__expected_attach_type(p) == BPF_TRACE_FENTRY;
}

static bool is_on_function(const struct bpf_program *p) {
    return is_on_entry(p) || bpf_program__expected_attach_type(p) == BPF_TRACE_FEXIT;
}

/* Each program enter_X and leave_X gets the kernel's function of the call X, if this kernel has one. */
static void choose_functions(struct waits *object, bool all_calls) {
    struct btf *kernel = all_calls ? btf__load_vmlinux_btf() : NULL;
    struct bpf_program *p;
    bpf_object__for_each_program(p, object->obj) {
        char function[64];
        if (!is_on_function(p)) {
            continue;
        }
        snprintf(function, sizeof function, "%s%s", object->rodata->call_prefix,
                 strchr(bpf_program__name(p), '_') + 1);
        bool has = kernel != NULL && btf__find_by_name_kind(kernel, function, BTF_KIND_FUNC) > 0;
        bpf_program__set_autoload(p, has && bpf_program__set_attach_target(p, 0, function) == 0);
    }
    btf__free(kernel);
}

static int load(struct hd_programs *p, bool all_calls, uint64_t long_ns) {
    struct waits *object = p->object;
    for (int32_t nr = 0; nr < (int32_t)HD_CALLS; nr++) {
        object->rodata->call_class[nr] = hd_programs_call_class(nr);
    }
    object->rodata->long_ns = long_ns;
    object->rodata->pid_namespace = own_namespace();
    object->rodata->all_calls = all_calls;
    p->slots = slots_wanted();
    choose_functions(object, all_calls);
    bpf_program__set_autoload(object->progs.enter_any, !all_calls);
    bpf_program__set_autoload(object->progs.leave_any, !all_calls);
    bpf_map__set_max_entries(object->maps.slots, p->slots);
    bpf_map__set_max_entries(object->maps.tids, p->slots);
    return waits__load(object);
}

/* Attaches all but the programs that are attached later. */
static int attach(struct waits *object) {
    struct bpf_program *p;
    bpf_program__set_autoattach(object->progs.switch_threads, false);
    bpf_program__set_autoattach(object->progs.enter_any, false);
    bpf_program__set_autoattach(object->progs.leave_any, false);
    bpf_object__for_each_program(p, object->obj) {
        if (!bpf_program__autoload(p)) {
            bpf_program__set_autoattach(p, false);
        }
    }
    return waits__attach(object);
}

int hd_programs_open(struct hd_programs *p, bool all_calls, uint64_t long_ns) {
    *p = (struct hd_programs){.slots = 0};
    libbpf_set_print(NULL);
    p->object = waits__open();
    if (p->object == NULL) {
        return -errno;
    }
    int rc = load(p, all_calls, long_ns);
    rc = rc == 0 ? attach(p->object) : rc;
    rc = rc == 0 ? hd_programs_see_switches(p, true) : rc;
    if (rc < 0) {
        hd_programs_close(p);
    }
    return rc == 0 || rc == -EPERM || rc == -EACCES || rc == -ENOMEM ? rc : -ENOTSUP;
}

void hd_programs_close(struct hd_programs *p) {
    (void)hd_programs_see_switches(p, false);
    (void)hd_programs_see_calls(p, false);
    waits__destroy(p->object);
    *p = (struct hd_programs){.slots = 0};
}

static int change(struct bpf_link **link, const struct bpf_program *program, bool on) {
    if (on && *link == NULL) {
        *link = bpf_program__attach(program);
        return *link != NULL ? 0 : -errno;
    }
    if (!on) {
        bpf_link__destroy(*link);
        *link = NULL;
    }
    return 0;
}

int hd_programs_see_switches(struct hd_programs *p, bool on) {
    return change(&p->switches, p->object->progs.switch_threads, on);
}

int hd_programs_see_calls(struct hd_programs *p, bool on) {
    int rc = change(&p->any_leave, p->object->progs.leave_any, on);
    return rc == 0 ? change(&p->any_enter, p->object->progs.enter_any, on) : rc;
}
