/* SPDX-License-Identifier: MIT */
// A library with a static object: its destructor hangs, at exit or in dlclose.
#include <unistd.h>
struct Hang {
    long value = 1;
    ~Hang() {
        for (;;) {
            pause();
        }
    }
};
static Hang hang;
extern "C" long library_value() {
    return hang.value;
}
