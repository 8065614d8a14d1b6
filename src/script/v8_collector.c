/* SPDX-License-Identifier: MIT
 *
 * V8's garbage collector, by its functions on a stack: node 18 to 22 export them, node 24 does not. Worker:
 * may run while a hang is on; no allocation.
 */
#include "script/v8.h"

void hd_v8_find_collector(struct hd_scripts *s, uint32_t module) {
    static const char names[HD_V8_COLLECTOR_FUNCTIONS][116] = {
        ("_ZN2v88internal4Heap14CollectGarbageENS0_15AllocationSpaceENS0_23GarbageCollectionReasonE"
         "NS_15GCCallbackFlagsE"),
        "_ZN2v88internal20MarkCompactCollector14CollectGarbageEv",
        "_ZN2v88internal18ScavengerCollector14CollectGarbageEv",
        "_ZN2v88internal18IncrementalMarking19AdvanceOnAllocationEv",
    };
    for (uint32_t i = 0; i < HD_V8_COLLECTOR_FUNCTIONS; i++) {
        s->v8_collector[i] = hd_module_symbol(s->modules, module, names[i]);
    }
}

/* A function of a script that the collector calls, as a callback, is the program's again. */
bool hd_scripts_in_v8_collector(const struct hd_scripts *s, const struct hd_frame *frames, uint32_t count) {
    for (uint32_t i = 0; i < count && s->v8.smi_shift != 0 && frames[i].script == 0; i++) {
        for (uint32_t k = 0; k < HD_V8_COLLECTOR_FUNCTIONS; k++) {
            if (s->v8_collector[k] != 0 && frames[i].start == s->v8_collector[k]) {
                return true;
            }
        }
    }
    return false;
}
