/* SPDX-License-Identifier: MIT
 * Finds the functions around an address in a unit's tree of DIEs. Not by libdw's dwarf_getscopes, which
 * recurses for each level: a hostile file would overflow the stack. It also skips namespaces, where Rust's
 * functions are, and functions, where gcc's lambdas are.
 */
#include "symbolizer/dw.h"

#include <dwarf.h>

#define LOOKED_AT_MAX 10000000 /* DIEs of a unit; a hostile file may have a circle */

/* True for a DIE that may contain functions without being a function. */
static bool may_contain_functions(int tag) {
    switch (tag) {
    case DW_TAG_namespace:
    case DW_TAG_module:
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
    case DW_TAG_interface_type:
    case DW_TAG_enumeration_type: /* in Rust */
        return true;
    default:
        return false;
    }
}

static bool is_function(int tag) {
    return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine;
}

static bool may_contain_code(int tag) {
    return is_function(tag) || tag == DW_TAG_lexical_block || tag == DW_TAG_try_block ||
           tag == DW_TAG_catch_block || tag == DW_TAG_with_stmt;
}

/* The path to the current DIE, one DIE for each level. It starts at the unit, and later at the innermost
 * function or block that contains the address, which the search never leaves. */
struct way {
    Dwarf_Die at[DW_LEVELS_MAX];
    size_t level;
};

static bool go_down(struct way *w) {
    bool down = dwarf_child(&w->at[w->level], &w->at[w->level + 1]) == 0;
    w->level += down;
    return down;
}

/* Moves to the next sibling. After the last one moves to the next sibling of the parent, if `may_go_up`. */
static bool go_on(struct way *w, bool may_go_up) {
    while (dwarf_siblingof(&w->at[w->level], &w->at[w->level]) != 0) {
        if (!may_go_up || w->level == 0) {
            return false;
        }
        w->level--;
    }
    return true;
}

static void turn_round(Dwarf_Die *die, size_t count) {
    for (size_t i = 0; i < count / 2; i++) {
        Dwarf_Die first = die[i];
        die[i] = die[count - 1 - i];
        die[count - 1 - i] = first;
    }
}

/* `inside_others`: searches functions that do not contain the address, too. There gcc describes lambdas,
 * methods of local classes and nested functions. */
static size_t look(Dwarf_Die *unit, Dwarf_Addr addr, bool inside_others, Dwarf_Die found[DW_LEVELS_MAX]) {
    struct way w = {.level = 0};
    size_t count = 0;
    bool inside = false; /* a DIE that contains the address was found: its siblings do not count */
    bool more = dwarf_child(unit, &w.at[0]) == 0;
    for (unsigned looked_at = 0; more && looked_at < LOOKED_AT_MAX; looked_at++) {
        int tag = dwarf_tag(&w.at[w.level]);
        bool code = may_contain_code(tag), here = code && dwarf_haspc(&w.at[w.level], addr) > 0;
        if (w.level + 1 == DW_LEVELS_MAX) {
            return 0;
        }
        if (here && is_function(tag) && count < DW_LEVELS_MAX) {
            found[count++] = w.at[w.level];
        }
        if (here) {
            w.at[0] = w.at[w.level];
            w.level = 0;
            inside = true;
        }
        bool down = here || (!inside && (may_contain_functions(tag) || (code && inside_others)));
        more = (down && go_down(&w)) || (!here && go_on(&w, !inside));
    }
    turn_round(found, count);
    return count;
}

/* The first search finds most functions, and takes a fraction of the time. */
size_t dw_functions_at(Dwarf_Die *unit, Dwarf_Addr addr, Dwarf_Die found[DW_LEVELS_MAX]) {
    size_t count = look(unit, addr, false, found);
    return count != 0 ? count : look(unit, addr, true, found);
}
