/* SPDX-License-Identifier: MIT */
#include "adapter/darwin/display_link.h"

#include <errno.h>

#include "adapter/darwin/frameworks.h"
#include "base/text.h"
#include "hangdog/apple.h"

#define LEAST_PERIOD_S 0.001 /* 1,000 refreshes per second, the limit of hangdog_options */
#define MOST_PERIOD_S 1.0

/* ---- the refresh ---------------------------------------------------------------------------- */

/* The loop's time in turns so far, with the part of the turn that calls this function. */
static uint64_t busy_ns_of(const struct hd_loop *l) {
    uint64_t word = atomic_load_explicit(&l->word, memory_order_relaxed);
    unsigned activity = hd_loop_activity(l, word);
    uint64_t ticks = atomic_load_explicit(&l->busy_ticks, memory_order_relaxed) +
                     atomic_load_explicit(&l->pending_ticks, memory_order_relaxed);
    if (!hd_activity_is_idle(activity)) {
        ticks += hd_loop_ticks(l) - hd_loop_turn_start(l, word, activity);
    }
    return hd_ticks_to_ns(ticks, atomic_load_explicit(&l->ns_per_tick_32, memory_order_relaxed));
}

static uint64_t ticks_of(const struct hd_loop *l, double seconds) {
    uint64_t rate = atomic_load_explicit(&l->ns_per_tick_32, memory_order_relaxed);
    return rate != 0 ? (uint64_t)(seconds * HD_NS_PER_S * 4294967296.0 / (double)rate) : 0;
}

/* A display of a variable rate says by its target how long this frame is shown. */
static double period_of(const struct hd_display_link_times *times) {
    double period = times->target_timestamp - times->timestamp;
    return period >= LEAST_PERIOD_S && period <= MOST_PERIOD_S ? period : times->duration;
}

void hd_display_link_refresh(struct hd_display_link_state *state, struct hd_loop *l,
                             const struct hd_display_link_times *times) {
    double period = period_of(times), took = times->timestamp - state->timestamp;
    uint64_t busy_ns = busy_ns_of(l);
    double busy = (double)(busy_ns - state->busy_ns) / HD_NS_PER_S;
    bool first = state->timestamp == 0;
    state->timestamp = times->timestamp;
    state->busy_ns = busy_ns;
    if (!(period >= LEAST_PERIOD_S && period <= MOST_PERIOD_S)) {
        return;
    }
    l->frames.period_ns = (uint64_t)(period * HD_NS_PER_S);
    /* The loop was free for more than two of these refreshes. So the system has paused the link, as it does
     * in the background: no frame was late. */
    if (first || !(took > 0) || took > busy + 3 * period) {
        return;
    }
    /* The frame's time is the display's, in place of the loop's time in turns. */
    l->frames.start_ticks = atomic_load_explicit(&l->busy_ticks, memory_order_relaxed) +
                            atomic_load_explicit(&l->pending_ticks, memory_order_relaxed);
    hd_frames_add(l, ticks_of(l, took));
}

/* ---- the link ------------------------------------------------------------------------------- */

static struct {
    void *link, *target; /* owned; NULL: no frames are followed */
    struct hd_loop *loop;
    struct hd_display_link_state state;
} own;

static const struct hd_objc_calls *objc(void) {
    return &hd_frameworks.objc;
}

static void *send(void *object, const char *selector) {
    return objc()->send(object, objc()->selector(selector));
}

static double seconds_of(void *link, const char *selector) {
    return objc()->send_double(link, objc()->selector(selector));
}

/* The method of the target that the link calls at each refresh. */
static void on_refresh(void *self, void *selector, void *link) {
    (void)self, (void)selector;
    if (own.link == NULL) {
        return;
    }
    const struct hd_display_link_times times = {.timestamp = seconds_of(link, "timestamp"),
                                                .target_timestamp = seconds_of(link, "targetTimestamp"),
                                                .duration = seconds_of(link, "duration")};
    hd_display_link_refresh(&own.state, own.loop, &times);
}

/* Makes an object with the method. The class has the address of this library's variable in its name, since a
 * process may have two copies of Hangdog. */
static void *new_target(void) {
    static void *type;
    void *base = objc()->class_named("NSObject");
    if (type == NULL && base != NULL) {
        char name[64];
        struct hd_text t;
        hd_text_init(&t, name, sizeof name);
        hd_text_str(&t, "HangdogDisplayLinkTarget");
        hd_text_hex(&t, (uint64_t)(uintptr_t)&type);
        type = objc()->new_class(base, name, 0);
        if (type != NULL) {
            objc()->add_method(type, objc()->selector("refresh:"), (hd_method)on_refresh, "v@:@");
            objc()->register_class(type);
        }
    }
    void *made = type != NULL ? send(type, "alloc") : NULL;
    return made != NULL ? send(made, "init") : NULL;
}

/* UIKit makes a link for its screen by the link's class. On macOS a screen makes the link. */
static void *link_maker(void) {
    if (objc()->class_named("UIScreen") != NULL) {
        return objc()->class_named("CADisplayLink");
    }
    void *screens = objc()->class_named("NSScreen");
    return screens != NULL ? send(screens, "mainScreen") : NULL;
}

static void *new_link(void *target) {
    void *make = objc()->selector("displayLinkWithTarget:selector:"), *maker = link_maker();
    if (maker == NULL || !objc()->send_responds(maker, objc()->selector("respondsToSelector:"), make)) {
        return NULL;
    }
    void *link = objc()->send_two(maker, make, target, objc()->selector("refresh:"));
    return link != NULL ? send(link, "retain") : NULL;
}

int hangdog_frames_follow(hangdog_loop *loop) {
    if (loop == NULL) {
        return -EINVAL;
    }
    if (own.link != NULL) {
        return -EALREADY;
    }
    hd_frameworks_load();
    const void *modes = hd_frameworks.constant("NSRunLoopCommonModes");
    void *loops = hd_frameworks_have_objc() ? objc()->class_named("NSRunLoop") : NULL;
    void *target = loops != NULL && modes != NULL ? new_target() : NULL;
    void *link = target != NULL ? new_link(target) : NULL;
    if (link == NULL) {
        if (target != NULL) {
            send(target, "release");
        }
        return -ENOENT;
    }
    own.loop = (struct hd_loop *)(void *)loop;
    own.state = (struct hd_display_link_state){0};
    own.target = target;
    own.link = link;
    objc()->send_two(link, objc()->selector("addToRunLoop:forMode:"), send(loops, "currentRunLoop"),
                     (void *)modes);
    return 0;
}

void hangdog_frames_unfollow(void) {
    if (own.link != NULL) {
        send(own.link, "invalidate");
        send(own.link, "release");
        send(own.target, "release");
        own.link = own.target = NULL;
        own.loop = NULL;
    }
}
