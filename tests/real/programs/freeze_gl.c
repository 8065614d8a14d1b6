/* SPDX-License-Identifier: MIT
 *
 * Preloaded into a GL program: the first call of a drawing function after 1.5 s blocks for 1.5 s. After 1 s
 * more the program ends. It prints what a program of schedule.h does.
 */
#define _GNU_SOURCE
#include <dlfcn.h>

#include "schedule.h"

static void freeze_once(void) {
    static long long begin_ns, froze_ns;
    long long now_ns = monotonic_ns();
    begin_ns = begin_ns != 0 ? begin_ns : now_ns;
    if (froze_ns == 0 && now_ns - begin_ns > 1500000000LL) {
        block("compute:1500");
        froze_ns = monotonic_ns();
    } else if (froze_ns != 0 && now_ns - froze_ns > 1000000000LL) {
        exit(0);
    }
}

void glCallList(unsigned list) {
    void (*next)(unsigned) = (void (*)(unsigned))dlsym(RTLD_NEXT, "glCallList");
    freeze_once();
    next(list);
}

void glDrawArrays(unsigned mode, int first, int count) {
    void (*next)(unsigned, int, int) = (void (*)(unsigned, int, int))dlsym(RTLD_NEXT, "glDrawArrays");
    freeze_once();
    next(mode, first, count);
}
