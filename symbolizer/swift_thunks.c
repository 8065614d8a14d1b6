/* SPDX-License-Identifier: MIT
 *
 * Thunks, tables of conformances, and metadata. Ordinary code.
 */
#include "symbolizer/swift_thunks.h"

#include "symbolizer/swift_generics.h"
#include "symbolizer/swift_specialization.h"
#include "symbolizer/swift_types.h"

#include <string.h>

/* ---- thunks ------------------------------------------------------------------------------- */

/* Letter, and what stands before the name. */
static const char *const attributes[] = {
    "o@objc ",
    "O@nonobjc ",
    "Ddynamic ",
    "dsuper ",
    "Edistributed thunk ",
    "Fdistributed accessor for ",
    "mmerged ",
    "jdispatch thunk of ",
    "qmethod descriptor for ",
    "uasync function pointer to ",
    "Apartial apply for ",
    "apartial apply for ",
    "Xdynamically replaceable variable for ",
    "xdynamically replaceable key for ",
    "Idynamically replaceable thunk for ",
    NULL,
};

static bool push_attribute(struct swift *s, const char *const *words, char letter) {
    for (; *words != NULL && letter != 0; words++) {
        if (**words == letter) {
            swift_push(s, swift_make_word(s, SWIFT_ATTRIBUTE, 0, *words + 1));
            return true;
        }
    }
    return false;
}

static void push_numbered(struct swift *s, enum swift_kind kind, uint16_t entity, const char *word) {
    uint16_t node = swift_make_word(s, kind, entity, word);
    if (node != 0) {
        s->nodes[node].form = 1;
        s->nodes[node].number = swift_index(s);
    }
    swift_push(s, node);
}

static void read_deployment(struct swift *s) {
    static const char *const words[] = {"bback deployment thunk for ", "Bback deployment fallback for ",
                                        "ccoro function pointer to ", "ddefault override of ", NULL};
    if (!push_attribute(s, words, swift_next(s))) {
        swift_fail(s);
    }
}

static void push_conforming(struct swift *s) {
    uint16_t requirement = swift_pop_entity(s);
    uint16_t type = requirement != 0 ? swift_need_conforming_type(s) : swift_fail(s);
    swift_push(s, swift_make(s, SWIFT_CONFORMING, requirement, type));
}

static void push_override(struct swift *s) {
    uint16_t base = swift_need_entity(s);
    uint16_t derived = swift_need_entity(s);
    swift_push(s, swift_make(s, SWIFT_OVERRIDE, base, derived));
}

static void push_of(struct swift *s, const char *word) {
    uint16_t entity = swift_need_entity(s);
    swift_push(s, swift_make_word(s, SWIFT_OF, entity, word));
}

static void push_key_path(struct swift *s, const char *word) {
    while (swift_pop_type(s) != 0) {
    }
    swift_pop(s, SWIFT_SIGNATURE);
    swift_next_if(s, 'q');
    push_of(s, word);
}

/* Types of a call from and to; their texts are not kept. */
static void push_conversion(struct swift *s, int types, const char *word) {
    swift_pop(s, SWIFT_SIGNATURE);
    while (types-- > 0) {
        swift_need_type(s);
    }
    swift_push(s, swift_make_word(s, SWIFT_OUTLINED, 0, word));
}

/* A method of Objective-C, or a property, whose bridged values are outlined. */
static void read_bridged(struct swift *s) {
    char c = swift_next(s);
    if (c != 'm' && c != 'a' && c != 'p') {
        swift_fail(s);
    }
    while (swift_next_if(s, 'n') || swift_next_if(s, 'b') || swift_next_if(s, 'g') || swift_next_if(s, 'o')) {
    }
    if (!swift_next_if(s, '_')) {
        swift_fail(s);
    }
    swift_push(s, swift_make_word(s, SWIFT_ATTRIBUTE, 0, "outlined bridged method of "));
}

static void read_completion(struct swift *s) {
    push_conversion(s, 2, "@objc completion handler block implementation");
    if (swift_peek(s) == '_' || swift_is_digit(swift_peek(s))) {
        swift_index(s);
    }
}

void swift_read_thunk(struct swift *s) {
    char c = swift_next(s);
    if (push_attribute(s, attributes, c)) {
        return;
    }
    switch (c) {
    case 'Q':
        push_numbered(s, SWIFT_ATTRIBUTE, 0, ") await resume partial function for ");
        break;
    case 'Y':
        push_numbered(s, SWIFT_ATTRIBUTE, 0, ") suspend resume partial function for ");
        break;
    case 'w':
        read_deployment(s);
        break;
    case 'W':
        push_conforming(s);
        break;
    case 'V':
        push_override(s);
        break;
    case 'c':
        push_of(s, "curry thunk of ");
        break;
    case 'v':
        push_numbered(s, SWIFT_ATTRIBUTE, 0, "outlined variable #");
        break;
    case 'e':
        read_bridged(s);
        break;
    case 'R':
        push_conversion(s, 2, "reabstraction thunk");
        break;
    case 'r':
    case 'y':
        push_conversion(s, c == 'r' ? 2 : 3, "reabstraction thunk");
        break;
    case 'z':
    case 'Z':
        read_completion(s);
        break;
    case 'K':
        push_key_path(s, "key path getter for ");
        break;
    case 'k':
        push_key_path(s, "key path setter for ");
        break;
    case 'f':
        swift_read_signature_specialization(s);
        break;
    default:
        swift_read_specialization(s, c);
    }
}

/* ---- what belongs to types ---------------------------------------------------------------- */

static void push_type_of(struct swift *s, const char *word) {
    uint16_t type = swift_need_type(s);
    swift_push(s, swift_make_word(s, SWIFT_OUTLINED, type, word));
}

static void push_word(struct swift *s, const char *const *words, char letter) {
    for (; *words != NULL && letter != 0; words++) {
        if (**words == letter) {
            push_type_of(s, *words + 1);
            return;
        }
    }
    swift_fail(s);
}

static void read_outlined(struct swift *s) {
    static const char *const words[] = {
        "youtlined copy of ",
        "eoutlined consume of ",
        "routlined retain of ",
        "soutlined release of ",
        "boutlined init with take of ",
        "Boutlined init with take of ",
        "coutlined init with copy of ",
        "Coutlined init with copy of ",
        "doutlined assign with take of ",
        "Doutlined assign with take of ",
        "foutlined assign with copy of ",
        "Foutlined assign with copy of ",
        "houtlined destroy of ",
        "Houtlined destroy of ",
        "ioutlined enum tag store of ",
        "joutlined enum destructive project of ",
        "goutlined enum get tag of ",
        NULL,
    };
    char letter = swift_next(s);
    swift_pop(s, SWIFT_SIGNATURE);
    push_word(s, words, letter);
}

/* `context (name '_')+`. The first name stands for all. */
static void read_global_initializer(struct swift *s) {
    uint16_t name = 0;
    while (swift_pop(s, SWIFT_FIRST) != 0) {
        name = swift_pop_declared(s);
    }
    uint16_t context = name != 0 ? swift_need_context(s) : swift_fail(s);
    swift_push(s, swift_make(s, SWIFT_VARIABLE, context, name));
    push_of(s, "one-time initialization function for ");
}

void swift_read_table(struct swift *s) {
    char c = swift_next(s);
    if (c == 'O') {
        read_outlined(s);
    } else if (c == 'Z') {
        read_global_initializer(s);
    } else if (c == 'b') {
        uint16_t base = swift_need_protocol(s);
        swift_need_conforming_type(s);
        swift_push(s,
                   swift_make_word(s, SWIFT_OUTLINED, base, "base " SWIFT_CONFORMING_TABLE " accessor for "));
    } else if (c == 'a' || c == 'I' || c == 'l') {
        uint16_t type = swift_need_conforming_type(s);
        if (c == 'l') {
            swift_need_type(s);
        }
        swift_push(s, swift_make_word(
                          s, SWIFT_OUTLINED, type,
                          c == 'a'   ? "protocol " SWIFT_CONFORMING_TABLE " accessor for "
                          : c == 'I' ? "instantiation function for generic protocol " SWIFT_CONFORMING_TABLE
                                       " for "
                                     : "lazy protocol " SWIFT_CONFORMING_TABLE " accessor for type "));
    } else {
        swift_fail(s); /* data */
    }
}

void swift_read_metadata(struct swift *s) {
    static const char *const words[] = {
        "atype metadata accessor for ",
        "rtype metadata completion function for ",
        "itype metadata instantiation function for ",
        "umethod lookup function for ",
        "UObjC metadata update function for ",
        NULL,
    };
    push_word(s, words, swift_next(s));
}

void swift_read_value_function(struct swift *s) {
    static const char *const kinds[] = {
        "alallocateBuffer for ",
        "caassignWithCopy for ",
        "taassignWithTake for ",
        "dedeallocateBuffer for ",
        "xxdestroy for ",
        "XXdestroyBuffer for ",
        "XxdestroyArray for ",
        "CPinitializeBufferWithCopyOfBuffer for ",
        "CpinitializeBufferWithCopy for ",
        "cpinitializeWithCopy for ",
        "TKinitializeBufferWithTakeOfBuffer for ",
        "TkinitializeBufferWithTake for ",
        "tkinitializeWithTake for ",
        "prprojectBuffer for ",
        "xsstoreExtraInhabitant for ",
        "xggetExtraInhabitantIndex for ",
        "ccinitializeArrayWithCopy for ",
        "TtinitializeArrayWithTakeFrontToBack for ",
        "tTinitializeArrayWithTakeBackToFront for ",
        "uggetEnumTag for ",
        "updestructiveProjectEnumData for ",
        "uidestructiveInjectEnumTag for ",
        "etgetEnumTagSinglePayload for ",
        "ststoreEnumTagSinglePayload for ",
        NULL,
    };
    char first = swift_next(s), second = swift_next(s);
    for (size_t i = 0; kinds[i] != NULL && second != 0; i++) {
        if (kinds[i][0] == first && kinds[i][1] == second) {
            push_type_of(s, kinds[i] + 2);
            return;
        }
    }
    swift_fail(s);
}
