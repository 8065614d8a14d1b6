/* SPDX-License-Identifier: MIT
 *
 * A stand-in for CFRunLoop: strings, modes, and the observers, sources, timers and blocks in them. Adding and
 * removing is for the loop's thread; signals, blocks and wake-ups come from any thread.
 */
#include "cf_run_loop.h"

#include <string.h>

static const struct __CFString default_mode = {.text = "kCFRunLoopDefaultMode", .length = 21};
static const struct __CFString common_modes = {.text = "kCFRunLoopCommonModes", .length = 21};
const CFStringRef kCFRunLoopDefaultMode = &default_mode;
const CFStringRef kCFRunLoopCommonModes = &common_modes;

struct cf_main_queue cf_main;
static struct __CFRunLoop main_loop = {.lock = PTHREAD_MUTEX_INITIALIZER};

CFStringRef cf_string(const char *text) {
    static struct __CFString strings[32];
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    unsigned i = 0;
    pthread_mutex_lock(&lock);
    while (i < 31 && strings[i].text != NULL && strcmp(strings[i].text, text) != 0) {
        i++;
    }
    strings[i].text = text;
    strings[i].length = (long)strlen(text);
    pthread_mutex_unlock(&lock);
    return &strings[i];
}

static const char item_type;

CFTypeRef CFRetain(CFTypeRef object) {
    struct cf_item *item = (struct cf_item *)object;
    if (item->type == &item_type) {
        item->references++;
    }
    return object;
}

/* Strings live for good. */
void CFRelease(CFTypeRef object) {
    struct cf_item *item = (struct cf_item *)object;
    if (item->type == &item_type && --item->references == 0) {
        free(item);
    }
}

static void *new_item(size_t bytes, CFIndex order) {
    struct cf_item *item = calloc(1, bytes);
    CF_NEED(item != NULL);
    *item = (struct cf_item){.type = &item_type, .references = 1, .valid = true, .order = order};
    return item;
}

/* ---- loops and modes ------------------------------------------------------------------------------ */

static void free_loop(void *loop) {
    struct __CFRunLoop *l = loop;
    pthread_cond_destroy(&l->changed);
    free(l);
}

static void init_loop(struct __CFRunLoop *l) {
    cf_init_wait(l);
    CFRunLoopAddCommonMode(l, kCFRunLoopDefaultMode);
}

static void init_main_loop(void) {
    init_loop(&main_loop);
}

CFRunLoopRef CFRunLoopGetMain(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, init_main_loop);
    return &main_loop;
}

static pthread_key_t of_thread;

static void make_key(void) {
    pthread_key_create(&of_thread, free_loop);
}

CFRunLoopRef CFRunLoopGetCurrent(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (cf_is_main_thread()) {
        return CFRunLoopGetMain();
    }
    pthread_once(&once, make_key);
    struct __CFRunLoop *l = pthread_getspecific(of_thread);
    if (l == NULL) {
        l = calloc(1, sizeof *l);
        CF_NEED(l != NULL);
        pthread_mutex_init(&l->lock, NULL);
        init_loop(l);
        pthread_setspecific(of_thread, l);
    }
    return l;
}

struct cf_mode *cf_mode_of(CFRunLoopRef loop, CFStringRef name) {
    unsigned i = 0;
    while (i < CF_MODES && loop->modes[i].name != NULL && strcmp(loop->modes[i].name, name->text) != 0) {
        i++;
    }
    CF_NEED(i < CF_MODES);
    loop->modes[i].name = name->text;
    return &loop->modes[i];
}

CFStringRef CFRunLoopCopyCurrentMode(CFRunLoopRef loop) {
    return loop->current != NULL ? cf_string(loop->current->name) : NULL; // NOLINT(clang-analyzer-osx.*)
}

static void insert(struct cf_item **list, struct cf_item *item) {
    unsigned at = 0, end = 0;
    while (end < CF_ITEMS && list[end] != NULL) {
        end++;
    }
    CF_NEED(end < CF_ITEMS);
    while (at < end && list[at]->order <= item->order) {
        at++;
    }
    memmove(&list[at + 1], &list[at], (end - at) * sizeof(struct cf_item *));
    list[at] = item;
    CFRetain(item);
}

static void delete(struct cf_item **list, struct cf_item *item) {
    unsigned to = 0, found = 0;
    for (unsigned i = 0; i < CF_ITEMS; i++) {
        if (list[i] == item) {
            found++;
        } else {
            list[to++] = list[i];
        }
    }
    while (to < CF_ITEMS) {
        list[to++] = NULL;
    }
    while (found-- > 0) {
        CFRelease(item);
    }
}

/* The common modes are known by the constant's address, as in the real CFRunLoop: an equal string is the name
 * of another mode. */
static void add(CFRunLoopRef loop, enum cf_kind kind, struct cf_item *item, CFStringRef mode) {
    CF_NEED(item->loop == NULL || item->loop == loop);
    item->loop = loop;
    if (mode != kCFRunLoopCommonModes) {
        insert(cf_mode_of(loop, mode)->items[kind], item);
        return;
    }
    insert(loop->common[kind], item);
    for (unsigned i = 0; i < CF_MODES && loop->modes[i].name != NULL; i++) {
        if (loop->modes[i].common) {
            insert(loop->modes[i].items[kind], item);
        }
    }
}

static void invalidate(enum cf_kind kind, struct cf_item *item) {
    CFRunLoopRef loop = item->loop;
    item->valid = false;
    CFRetain(item);
    for (unsigned i = 0; loop != NULL && i < CF_MODES && loop->modes[i].name != NULL; i++) {
        delete (loop->modes[i].items[kind], item);
    }
    if (loop != NULL) {
        delete (loop->common[kind], item);
    }
    CFRelease(item);
}

void CFRunLoopAddCommonMode(CFRunLoopRef loop, CFStringRef name) {
    struct cf_mode *mode = cf_mode_of(loop, name);
    if (mode->common) {
        return;
    }
    mode->common = true;
    for (unsigned kind = 0; kind < CF_KINDS; kind++) {
        for (unsigned i = 0; i < CF_ITEMS && loop->common[kind][i] != NULL; i++) {
            insert(mode->items[kind], loop->common[kind][i]);
        }
    }
}

static void wake(CFRunLoopRef loop, bool *flag) {
    pthread_mutex_lock(&loop->lock);
    *flag = true;
    pthread_cond_broadcast(&loop->changed);
    pthread_mutex_unlock(&loop->lock);
}

void CFRunLoopWakeUp(CFRunLoopRef loop) {
    wake(loop, &loop->woken);
}

void CFRunLoopStop(CFRunLoopRef loop) {
    wake(loop, &loop->stopped);
    CFRunLoopWakeUp(loop);
}

/* ---- items ---------------------------------------------------------------------------------------- */

CFRunLoopObserverRef CFRunLoopObserverCreate(CFAllocatorRef allocator, CFOptionFlags activities,
                                             Boolean repeats, CFIndex order, CFRunLoopObserverCallBack call,
                                             CFRunLoopObserverContext *context) {
    struct __CFRunLoopObserver *o = new_item(sizeof *o, order);
    (void)allocator;
    o->activities = activities;
    o->repeats = repeats;
    o->call = call;
    o->info = context != NULL ? context->info : NULL;
    return o;
}

void CFRunLoopAddObserver(CFRunLoopRef loop, CFRunLoopObserverRef observer, CFStringRef mode) {
    add(loop, CF_OBSERVER, &observer->item, mode);
}

void CFRunLoopObserverInvalidate(CFRunLoopObserverRef observer) {
    invalidate(CF_OBSERVER, &observer->item);
}

CFRunLoopSourceRef CFRunLoopSourceCreate(CFAllocatorRef allocator, CFIndex order,
                                         CFRunLoopSourceContext *context) {
    struct __CFRunLoopSource *s = new_item(sizeof *s, order);
    (void)allocator;
    s->context = *context;
    return s;
}

void CFRunLoopAddSource(CFRunLoopRef loop, CFRunLoopSourceRef source, CFStringRef mode) {
    add(loop, CF_SOURCE, &source->item, mode);
}

void CFRunLoopSourceSignal(CFRunLoopSourceRef source) {
    atomic_store(&source->signalled, true);
}

void CFRunLoopSourceInvalidate(CFRunLoopSourceRef source) {
    invalidate(CF_SOURCE, &source->item);
}

CFRunLoopTimerRef CFRunLoopTimerCreate(CFAllocatorRef allocator, CFAbsoluteTime at, CFTimeInterval interval,
                                       CFOptionFlags flags, CFIndex order, CFRunLoopTimerCallBack call,
                                       CFRunLoopTimerContext *context) {
    struct __CFRunLoopTimer *t = new_item(sizeof *t, order);
    (void)allocator, (void)flags;
    t->at = at;
    t->interval = interval;
    t->call = call;
    t->info = context != NULL ? context->info : NULL;
    return t;
}

void CFRunLoopAddTimer(CFRunLoopRef loop, CFRunLoopTimerRef timer, CFStringRef mode) {
    add(loop, CF_TIMER, &timer->item, mode);
}

void CFRunLoopTimerInvalidate(CFRunLoopTimerRef timer) {
    invalidate(CF_TIMER, &timer->item);
}

/* ---- blocks --------------------------------------------------------------------------------------- */

static void add_block(CFRunLoopRef loop, struct cf_blocks *to, struct cf_block block) {
    pthread_mutex_lock(&loop->lock);
    CF_NEED(to->count < CF_ITEMS);
    to->list[to->count++] = block;
    pthread_cond_broadcast(&loop->changed);
    pthread_mutex_unlock(&loop->lock);
}

void cf_perform(CFRunLoopRef loop, CFStringRef mode, void (*run)(void *), void *argument) {
    add_block(loop, &loop->performed, (struct cf_block){run, argument, mode->text});
}

void cf_add_to_main_queue(void (*run)(void *), void *argument) {
    add_block(CFRunLoopGetMain(), &cf_main.blocks, (struct cf_block){run, argument, NULL});
}
