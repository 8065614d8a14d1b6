/* SPDX-License-Identifier: MIT
 *
 * V8's own table of offsets. A symbol's name ends with the field's type, which differs between versions: all
 * spellings of node 18 to 24 are tried. Worker: may run while a hang is on; no allocation.
 */
#include "script/v8_offsets.h"

#include <string.h>

#define NAME_BYTES 128u

struct field {
    uint16_t at; /* in struct hd_v8_offsets */
    bool optional;
};

/* Member, name after "v8dbg_", ends of the name: separated by blanks, empty where the name has no end that
 * differs. A module without the first one is looked at no further. */
/* clang-format off */
#define FIELDS(FIELD, OPTIONAL) \
    FIELD(smi_shift, "SmiShiftSize", "") \
    FIELD(smi_value_shift, "SmiValueShift", "") \
    FIELD(frame_context_or_type, "off_fp_context_or_frame_type", "") \
    FIELD(frame_function, "off_fp_function", "") \
    FIELD(frame_bytecode_array, "off_fp_bytecode_array", "") \
    FIELD(frame_bytecode_offset, "off_fp_bytecode_offset", "") \
    FIELD(map_instance_type, "class_Map__instance_type__uint16_t", "") \
    FIELD(function_shared, "class_JSFunction__shared__", "SharedFunctionInfo Tagged_SharedFunctionInfo_") \
    FIELD(shared_name, "class_SharedFunctionInfo__name_or_scope_info__", \
          "Tagged_NameOrScopeInfoT_ Tagged_Object_ Object") \
    FIELD(shared_script, "class_SharedFunctionInfo__", \
          "script__Tagged_HeapObject_ raw_script__Tagged_Object_ script_or_debug_info__HeapObject") \
    FIELD(script_name, "class_Script__name__", "Object Tagged_Object_") \
    FIELD(script_source, "class_Script__source__", "Object Tagged_Object_") \
    FIELD(string_length, "class_String__length__int32_t", "") \
    FIELD(string_chars, "class_SeqOneByteString__chars__char", "") \
    FIELD(string_chars16, "class_SeqTwoByteString__chars__char", "") \
    FIELD(cons_first, "class_ConsString__first__", "String Tagged_String_") \
    FIELD(cons_second, "class_ConsString__second__", "String Tagged_String_") \
    FIELD(thin_actual, "class_ThinString__actual__", "String Tagged_String_") \
    FIELD(sliced_parent, "class_SlicedString__parent__", "String Tagged_String_") \
    FIELD(sliced_offset, "class_SlicedString__offset__SMI", "") \
    FIELD(external_resource, "class_ExternalString__resource__", "Object ExternalPointer_t") \
    FIELD(array_length, "class_FixedArrayBase__length__SMI", "") \
    FIELD(array_data, "class_FixedArray__data__uintptr_t", "") \
    FIELD(bytecode_data, "class_BytecodeArray__data__uintptr_t", "") \
    FIELD(type_function, "type_JSFunction__JS_FUNCTION_TYPE", "") \
    FIELD(type_shared, "type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE", "") \
    FIELD(type_script, "type_Script__SCRIPT_TYPE", "") \
    FIELD(type_scope, "type_ScopeInfo__SCOPE_INFO_TYPE", "") \
    FIELD(type_bytecode, "type_BytecodeArray__BYTECODE_ARRAY_TYPE", "") \
    FIELD(type_bytes, "type_ByteArray__BYTE_ARRAY_TYPE", "") \
    OPTIONAL(type_trusted_bytes, "type_TrustedByteArray__TRUSTED_BYTE_ARRAY_TYPE", "") \
    FIELD(first_nonstring, "FirstNonstringType", "") \
    FIELD(representation_mask, "StringRepresentationMask", "") \
    FIELD(one_byte, "OneByteStringTag", "") \
    FIELD(cons, "ConsStringTag", "") \
    FIELD(external, "ExternalStringTag", "") \
    FIELD(sliced, "SlicedStringTag", "") \
    FIELD(thin, "ThinStringTag", "") \
    FIELD(scope_locals, "scopeinfo_idx_ncontextlocals", "") \
    FIELD(scope_first, "scopeinfo_idx_first_vars", "")
/* clang-format on */

/* The words are one string, not pointers that the loader has to mend in each watched process. */
#define WORDS(member, name, ends) name "\0" ends "\0"
#define NEEDED(member, name, ends) {offsetof(struct hd_v8_offsets, member), false},
#define OPTIONAL(member, name, ends) {offsetof(struct hd_v8_offsets, member), true},
static const char words[] = FIELDS(WORDS, WORDS);
static const struct field fields[] = {FIELDS(NEEDED, OPTIONAL)};

static bool read_variable(struct hd_modules *modules, uint32_t index, const char *name, int32_t *out) {
    uint64_t at = hd_module_symbol(modules, index, name);
    return at != 0 && hd_memory_read(&modules->memory, at, out, sizeof *out);
}

static bool read_field(struct hd_modules *modules, uint32_t index, const char *named, const char *ends,
                       int32_t *out) {
    char name[NAME_BYTES] = "v8dbg_";
    size_t length = strlen(name), part = strlen(named);
    memcpy(name + length, named, part + 1);
    length += part;
    if (ends[0] == '\0') {
        return read_variable(modules, index, name, out);
    }
    for (const char *end = ends; *end != '\0';) {
        for (part = 0; end[part] != '\0' && end[part] != ' '; part++) {
        }
        memcpy(name + length, end, part);
        name[length + part] = '\0';
        if (read_variable(modules, index, name, out)) {
            return true;
        }
        end += part + (end[part] == ' ');
    }
    return false;
}

bool hd_v8_offsets_read(struct hd_modules *modules, uint32_t index, struct hd_v8_offsets *out) {
    const char *name = words;
    *out = (struct hd_v8_offsets){.smi_shift = 0};
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        const char *ends = name + strlen(name) + 1;
        int32_t value = 0;
        if (!read_field(modules, index, name, ends, &value) && !fields[i].optional) {
            return false;
        }
        memcpy((uint8_t *)out + fields[i].at, &value, sizeof value);
        name = ends + strlen(ends) + 1;
    }
    /* With compressed pointers small integers have 31 bits, and words four bytes: embedders, not node. */
    return out->smi_shift + out->smi_value_shift == 32;
}
