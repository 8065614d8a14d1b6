/* SPDX-License-Identifier: MIT
 *
 * The frameworks of frameworks.h. The runtime sends a message as Apple's does: objc_msgSend finds the method
 * and jumps to it with the caller's arguments. So a caller that calls it in wrong types fails here too.
 */
#include "frameworks.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
#define METHODS 12
#define OBJECTS 16

struct class {
    struct class *isa, *base;
    const char *name;
    int methods, registered;
    struct {
        const char *selector;
        void *function;
    } method[METHODS];
};

struct object {
    struct class *isa;
    int references;
    struct object *target; /* of a link */
    const char *selector;
    bool scheduled;
};

static int uikit;
static struct object objects[OBJECTS];
static double times[3];

static _Noreturn void fail(const char *what, const char *name) {
    printf("FAILED: %s %s\n", what, name);
    exit(1);
}

/* ---- selectors, classes, messages ----------------------------------------------------------------- */

EXPORT const char *sel_registerName(const char *name) {
    static const char *names[64];
    for (int i = 0; i < 64; i++) {
        if (names[i] == NULL) {
            names[i] = strdup(name);
        }
        if (strcmp(names[i], name) == 0) {
            return names[i];
        }
    }
    fail("too many selectors:", name);
}

static void *method_of(const struct class *type, const char *selector) {
    for (; type != NULL; type = type->base) {
        for (int i = 0; i < type->methods; i++) {
            if (type->method[i].selector == selector) {
                return type->method[i].function;
            }
        }
    }
    return NULL;
}

__attribute__((used)) void *frameworks_find(struct object *object, const char *selector);
void *frameworks_find(struct object *object, const char *selector) {
    void *found = method_of(object->isa, selector);
    if (found == NULL) {
        fail("no method", selector);
    }
    return found;
}

#if defined(__x86_64__)
__asm__(".text\n.globl _objc_msgSend\n.p2align 4\n_objc_msgSend:\n"
        "    testq %rdi, %rdi\n    je 1f\n"
        "    pushq %rbp\n    movq %rsp, %rbp\n"
        "    pushq %rdi\n    pushq %rsi\n    pushq %rdx\n    pushq %rcx\n    pushq %r8\n    pushq %r9\n"
        "    callq _frameworks_find\n    movq %rax, %r11\n"
        "    popq %r9\n    popq %r8\n    popq %rcx\n    popq %rdx\n    popq %rsi\n    popq %rdi\n"
        "    popq %rbp\n    jmpq *%r11\n"
        "1:  xorl %eax, %eax\n    xorps %xmm0, %xmm0\n    retq\n");
#else
__asm__(".text\n.globl _objc_msgSend\n.p2align 4\n_objc_msgSend:\n"
        "    cbz x0, 1f\n"
        "    stp x29, x30, [sp, #-80]!\n    mov x29, sp\n"
        "    stp x0, x1, [sp, #16]\n    stp x2, x3, [sp, #32]\n    stp x4, x5, [sp, #48]\n"
        "    stp x6, x7, [sp, #64]\n    bl _frameworks_find\n    mov x17, x0\n"
        "    ldp x0, x1, [sp, #16]\n    ldp x2, x3, [sp, #32]\n    ldp x4, x5, [sp, #48]\n"
        "    ldp x6, x7, [sp, #64]\n    ldp x29, x30, [sp], #80\n    br x17\n"
        "1:  movi d0, #0\n    ret\n");
#endif

/* Each class has its class methods in the class of the same index here. */
static struct class of_classes[8],
    classes[8] = {{.name = "NSObject"},      {.name = "NSRunLoop"}, {.name = "CADisplayLink"},
                  {.name = "NSScreen"},      {.name = "UIScreen"},  {.name = "UIApplication"},
                  {.name = "NSProcessInfo"}, {.name = NULL}};
enum {
    OBJECT,
    RUN_LOOP,
    LINK,
    SCREEN,
    UI_SCREEN,
    APPLICATION,
    PROCESS,
    MADE
};

EXPORT struct class *objc_getClass(const char *name) {
    for (int i = 0; i < MADE; i++) {
        bool absent = (i == UI_SCREEN && !uikit) || (i == SCREEN && uikit);
        if (strcmp(classes[i].name, name) == 0 && !absent) {
            return &classes[i];
        }
    }
    return NULL;
}

static void add(struct class *type, const char *selector, void *function) {
    type->method[type->methods].selector = sel_registerName(selector);
    type->method[type->methods++].function = function;
}

EXPORT struct class *objc_allocateClassPair(struct class *base, const char *name, size_t extra) {
    if (classes[MADE].name != NULL || extra != 0) {
        return NULL;
    }
    classes[MADE].name = strdup(name);
    classes[MADE].base = base;
    classes[MADE].isa = &of_classes[MADE];
    of_classes[MADE].base = base->isa;
    return &classes[MADE];
}

EXPORT bool class_addMethod(struct class *type, const char *selector, void *function, const char *types) {
    if (type->registered || strcmp(types, "v@:@") != 0) {
        fail("class_addMethod", types);
    }
    add(type, selector, function);
    return true;
}

EXPORT void objc_registerClassPair(struct class *type) {
    type->registered = 1;
}

/* ---- objects -------------------------------------------------------------------------------------- */

static struct object *new_object(struct class *type) {
    for (int i = 0; i < OBJECTS; i++) {
        if (objects[i].references == 0) {
            objects[i] = (struct object){.isa = type, .references = 1};
            return &objects[i];
        }
    }
    fail("too many objects of", type->name);
}

static void *alloc(struct class *self, const char *selector) {
    (void)selector;
    return new_object(self);
}

static void *same(void *self, const char *selector) {
    (void)selector;
    return self;
}

static void *retain(struct object *self, const char *selector) {
    (void)selector;
    self->references++;
    return self;
}

static void release(struct object *self, const char *selector) {
    (void)selector;
    self->references--;
}

/* A BOOL: the upper bytes of the register have no meaning. */
static uint64_t responds(struct object *self, const char *selector, const char *wanted) {
    (void)selector;
    return 0xa5a5a500 | (method_of(self->isa, wanted) != NULL);
}

/* Not a new reference: the link is autoreleased, and here there is no pool. */
static void *make_link(void *self, const char *selector, struct object *target, const char *call) {
    struct object *link = new_object(&classes[LINK]);
    (void)self, (void)selector;
    target->references++;
    link->references = 0;
    link->target = target;
    link->selector = call;
    return link;
}

static void schedule(struct object *self, const char *selector, struct object *loop, const char *mode) {
    (void)selector;
    if (loop->isa != &classes[RUN_LOOP] || strcmp(mode, "common") != 0) {
        fail("addToRunLoop:forMode:", mode);
    }
    self->scheduled = true;
    self->references++;
}

static void invalidate(struct object *self, const char *selector) {
    (void)selector;
    self->scheduled = false;
    self->references--;
    self->target->references--;
}

static double timestamp(void *self, const char *selector) {
    (void)self, (void)selector;
    return times[0];
}

static double target_timestamp(void *self, const char *selector) {
    (void)self, (void)selector;
    return times[1];
}

static double duration(void *self, const char *selector) {
    (void)self, (void)selector;
    return times[2];
}

static void *shared(struct class *self, const char *selector) {
    static struct object one[8];
    (void)selector;
    one[self - classes].isa = self;
    return &one[self - classes];
}

static long application_state(void *self, const char *selector) {
    (void)self, (void)selector;
    return 2;
}

static long thermal_state(void *self, const char *selector) {
    (void)self, (void)selector;
    return 2;
}

__attribute__((constructor)) static void make_classes(void) {
    for (int i = 0; i < MADE; i++) {
        classes[i].base = i != OBJECT ? &classes[OBJECT] : NULL;
        classes[i].isa = &of_classes[i];
        of_classes[i].base = i != OBJECT ? &of_classes[OBJECT] : NULL;
    }
    add(&of_classes[OBJECT], "alloc", alloc);
    add(&of_classes[OBJECT], "respondsToSelector:", responds);
    add(&classes[OBJECT], "respondsToSelector:", responds);
    add(&classes[OBJECT], "init", same);
    add(&classes[OBJECT], "retain", retain);
    add(&classes[OBJECT], "release", release);
    add(&of_classes[RUN_LOOP], "currentRunLoop", shared);
    add(&of_classes[LINK], "displayLinkWithTarget:selector:", make_link);
    add(&classes[LINK], "addToRunLoop:forMode:", schedule);
    add(&classes[LINK], "invalidate", invalidate);
    add(&classes[LINK], "timestamp", timestamp);
    add(&classes[LINK], "targetTimestamp", target_timestamp);
    add(&classes[LINK], "duration", duration);
    add(&of_classes[SCREEN], "mainScreen", shared);
    add(&classes[SCREEN], "displayLinkWithTarget:selector:", make_link);
    add(&classes[APPLICATION], "applicationState", application_state);
    add(&of_classes[PROCESS], "processInfo", shared);
    add(&classes[PROCESS], "thermalState", thermal_state);
}

EXPORT const void *NSRunLoopCommonModes = "common";

EXPORT int frameworks_refresh(double at, double target_at, double period) {
    int links = 0;
    times[0] = at;
    times[1] = target_at;
    times[2] = period;
    for (int i = 0; i < OBJECTS; i++) {
        struct object *link = &objects[i];
        if (link->references > 0 && link->scheduled) {
            void *method = frameworks_find(link->target, link->selector);
            ((void (*)(void *, const char *, void *))method)(link->target, link->selector, link);
            links++;
        }
    }
    return links;
}

EXPORT int frameworks_references(void) {
    int sum = 0;
    for (int i = 0; i < OBJECTS; i++) {
        sum += objects[i].references;
    }
    return sum;
}

EXPORT void frameworks_use_uikit(int yes) {
    uikit = yes;
}

EXPORT void *frameworks_background_app(void) {
    return shared(&classes[APPLICATION], NULL);
}

/* ---- notifications -------------------------------------------------------------------------------- */

#define NOTIFICATION(name) EXPORT const void *name = #name;
NOTIFICATION(UIApplicationDidFinishLaunchingNotification)
NOTIFICATION(UIApplicationWillResignActiveNotification)
NOTIFICATION(UIApplicationDidEnterBackgroundNotification)
NOTIFICATION(UIApplicationWillEnterForegroundNotification)
NOTIFICATION(UIApplicationDidBecomeActiveNotification)
NOTIFICATION(UIApplicationWillTerminateNotification)
NOTIFICATION(UISceneWillDeactivateNotification)
NOTIFICATION(UISceneDidActivateNotification)
NOTIFICATION(NSProcessInfoThermalStateDidChangeNotification)

typedef void (*notified)(void *center, void *observer, const void *name, const void *object,
                         const void *info);
static struct {
    const void *observer, *name;
    notified call;
} observers[32];
static int observed;

EXPORT void *CFNotificationCenterGetLocalCenter(void) {
    return &observers;
}

EXPORT void CFNotificationCenterAddObserver(void *center, const void *observer, notified call,
                                            const void *name, const void *object, long behaviour) {
    if (center != &observers || object != NULL || behaviour != 4) {
        fail("CFNotificationCenterAddObserver", name);
    }
    observers[observed].observer = observer;
    observers[observed].call = call;
    observers[observed++].name = name;
}

EXPORT void CFNotificationCenterRemoveEveryObserver(void *center, const void *observer) {
    (void)center;
    for (int i = 0; i < observed; i++) {
        if (observers[i].observer == observer) {
            observers[i--] = observers[--observed];
        }
    }
}

EXPORT int frameworks_post(const char *name, const void *object) {
    int calls = 0;
    for (int i = 0; i < observed; i++) {
        if (strcmp(observers[i].name, name) == 0) {
            observers[i].call(&observers, (void *)observers[i].observer, observers[i].name, object, NULL);
            calls++;
        }
    }
    return calls;
}
