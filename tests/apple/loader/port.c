/* SPDX-License-Identifier: MIT */
#include "port.h"

#include <err.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "exceptions.h"
#include "import.h"
#include "mach.h"
#include "thread.h"

struct port {
    _Atomic int kind;
    _Atomic int references;
    _Atomic bool dead;
    void *object;
};

static struct port ports[PORTS] = {[1] = {.kind = PORT_TASK, .references = 1}, [2] = {.kind = PORT_HOST}};
uint32_t mach_task_self_value = PORT_TASK_SELF;

static struct port *port_of(uint32_t name) {
    uint32_t index = name >> 8;
    return (name & 0xff) == 3 && index > 0 && index < PORTS && ports[index].kind ? &ports[index] : NULL;
}

uint32_t port_new(enum port_kind kind, void *object) {
    for (uint32_t i = 3; i < PORTS; i++) {
        int free_kind = PORT_NONE;
        if (atomic_compare_exchange_strong(&ports[i].kind, &free_kind, kind)) {
            ports[i].references = 0;
            ports[i].dead = false;
            ports[i].object = object;
            return i << 8 | 3;
        }
    }
    errx(2, "more than %d ports", PORTS);
}

uint32_t port_retain(uint32_t name) {
    struct port *p = port_of(name);
    if (p) {
        p->references++;
    }
    return name;
}

void *port_object(uint32_t name, enum port_kind kind) {
    struct port *p = port_of(name);
    return p && p->kind == (int)kind && !p->dead ? p->object : NULL;
}

static void free_if_unused(struct port *p) {
    if (p->dead && p->references <= 0) {
        p->kind = PORT_NONE;
    }
}

void port_object_ended(uint32_t name) {
    struct port *p = port_of(name);
    if (p) {
        p->dead = true;
        free_if_unused(p);
    }
}

void port_release_name(uint32_t name) {
    struct port *p = port_of(name);
    if (p) {
        p->references--;
    }
    port_object_ended(name);
}

void port_drop(uint32_t name) {
    struct port *p = port_of(name);
    if (p) {
        p->references--;
        free_if_unused(p);
    }
}

static int fake_mach_port_mod_refs(uint32_t task, uint32_t name, int right, int delta) {
    (void)task;
    struct port *p = port_of(name);
    if (!p) {
        return KERN_INVALID_NAME;
    }
    if (p->references + delta < 0) {
        return KERN_INVALID_RIGHT;
    }
    p->references += delta;
    if (right == 1 && p->kind == PORT_RECEIVE) {
        p->dead = true;
        exceptions_port_died(name);
    }
    free_if_unused(p);
    return KERN_SUCCESS;
}

static int fake_mach_port_deallocate(uint32_t task, uint32_t name) {
    return fake_mach_port_mod_refs(task, name, 0, -1);
}

static int fake_mach_port_allocate(uint32_t task, uint32_t right, uint32_t *name) {
    (void)task;
    (void)right;
    *name = port_new(PORT_RECEIVE, NULL);
    port_retain(*name);
    return KERN_SUCCESS;
}

static int fake_mach_port_destroy(uint32_t task, uint32_t name) {
    (void)task;
    struct port *p = port_of(name);
    if (!p) {
        return KERN_INVALID_NAME;
    }
    p->kind = PORT_NONE;
    return KERN_SUCCESS;
}

static uint32_t fake_mach_thread_self(void) {
    return port_retain(thread_self->port);
}

static uint32_t fake_mach_host_self(void) {
    return port_retain(2 << 8 | 3);
}

/* For tests: all references of all names, and the names in use. */
static int fake_test_ports(int *names) {
    int references = 0, used = 0;
    for (uint32_t i = 1; i < PORTS; i++) {
        used += ports[i].kind != PORT_NONE;
        references += ports[i].kind != PORT_NONE ? ports[i].references : 0;
    }
    *names = used;
    return references;
}

const struct import imports_of_port[] = {
    DATA("mach_task_self_", &mach_task_self_value),
    KERNEL("mach_port_deallocate", fake_mach_port_deallocate, -18),
    KERNEL("mach_port_mod_refs", fake_mach_port_mod_refs, -19),
    KERNEL("mach_port_allocate", fake_mach_port_allocate, -16),
    KERNEL("mach_port_destroy", fake_mach_port_destroy, -17),
    KERNEL("mach_thread_self", fake_mach_thread_self, -27),
    KERNEL("mach_host_self", fake_mach_host_self, -29),
    LIBRARY("fake_ports", fake_test_ports),
    IMPORT_END,
};
