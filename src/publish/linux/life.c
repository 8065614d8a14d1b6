/* SPDX-License-Identifier: MIT */
#include "publish/life.h"

void hd_life_start(struct hd_publisher *p) {
    (void)p;
}

void hd_life_store_crash(void) {}

void hd_life_store_process(bool debugger) {
    (void)debugger;
}

void hd_life_end(void) {}
