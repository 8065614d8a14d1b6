/* SPDX-License-Identifier: MIT
 *
 * Where things are in V8's heap and frames. V8 exports them for post-mortem debuggers as 32-bit variables
 * named v8dbg_*: node 18 to 24 do. Private to src/script. Worker only.
 */
#ifndef HD_SCRIPT_V8_OFFSETS_H
#define HD_SCRIPT_V8_OFFSETS_H

#include "image/modules.h"

struct hd_v8_offsets {
    /* from the frame pointer of a JavaScript function */
    int32_t frame_context_or_type, frame_function, frame_bytecode_array, frame_bytecode_offset;
    /* from the beginning of an object */
    int32_t map_instance_type, function_shared, shared_name, shared_script, script_name, script_source;
    int32_t string_length, string_chars, string_chars16, cons_first, cons_second, thin_actual;
    int32_t sliced_parent, sliced_offset, external_resource, array_length, array_data, bytecode_data;
    /* instance types */
    int32_t type_function, type_shared, type_script, type_scope, type_bytecode, type_bytes;
    int32_t type_trusted_bytes; /* 0: this version has none */
    int32_t first_nonstring, representation_mask, one_byte, cons, external, sliced, thin;
    /* of a ScopeInfo, in words */
    int32_t scope_locals, scope_first;
    int32_t smi_shift, smi_value_shift;
};

/* Fills `out` from module `index`. False: no V8 in the module, or a V8 without all these values. */
bool hd_v8_offsets_read(struct hd_modules *modules, uint32_t index, struct hd_v8_offsets *out);

#endif
