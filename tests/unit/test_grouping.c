/* SPDX-License-Identifier: MIT
 *
 * Grouping: what other builds and threads of one bug have in common, and what tells two bugs apart.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "collector/report/alike.h"
#include "collector/report/frame_name.h"
#include "collector/report/grouping.h"
#include "collector/report/why.h"

/* A report of the app `shop`: `rest` has its cause, stacks and threads. Quotes are single ones. */
static struct grouping group(const char *rest) {
    char text[8192];
    struct grouping g;
    snprintf(
        text, sizeof text,
        "{'kind':'hang','app':{'name':'shop','executable':'shop','build_id':'aa'},'loop':{'name':'main','tid':1},"
        "'modules':[{'path':'/opt/shop/shop','base':'0x0','size':4096,'build_id':'aa'},"
        "{'path':'/usr/lib/x86_64-linux-gnu/libc.so.6','base':'0x0','size':4096},"
        "{'path':'/usr/lib/x86_64-linux-gnu/libglib-2.0.so.0','base':'0x0','size':4096}],%s}",
        rest);
    for (char *p = text; *p != '\0'; p++) {
        *p = *p == '\'' ? '"' : *p;
    }
    json_error_t error;
    json_t *report = json_loads(text, 0, &error);
    if (report == NULL) {
        fail_msg("%s: %s", error.text, text);
    }
    grouping_of(report, &g);
    json_decref(report);
    return g;
}

static void assert_one(const char *a, const char *b) {
    struct grouping x = group(a), y = group(b);
    assert_string_equal(x.path, y.path);
    assert_string_equal(x.fingerprint, y.fingerprint);
}

static void assert_two(const char *a, const char *b) {
    struct grouping x = group(a), y = group(b);
    assert_string_not_equal(x.fingerprint, y.fingerprint);
}

#define CPU "'cause':{'kind':'cpu'},'hot_stack':{'frames':["
#define OWN(name) "{'pc':'0x1','module':0,'function':'" name "'}"
#define GLIB(name) "{'pc':'0x1','module':2,'function':'" name "'}"
#define SCRIPT(name) "{'pc':'0x1','function':'" name "','language':'javascript','file':'/opt/shop/a.js'}"
#define END "]}"

static void names(void **state) {
    (void)state;
    static const struct {
        const char *name, *expected;
    } cases[] = {
        {"resize", "resize"},
        {"resize.part.0", "resize"},
        {"resize.constprop.0.isra.2", "resize"},
        {"resize [clone .cold]", "resize"},
        {"ns::Cache<int, std::less<int> >::get(int const&) const", "ns::Cache::get"},
        {"operator<(A const&, A const&)", "operator<"},
        {"std::ostream& operator<<(std::ostream&, A)", "std::ostream& operator<<"},
        {"(anonymous namespace)::load(char*)", "load"},
        {"app::(anonymous namespace)::load(char*)", "app::load"},
        {"on_tag()::$_0::operator()(int) const", "on_tag::{lambda}::operator"},
        {"run(int)::{lambda(int)#2}::operator()(int) const", "run::{lambda}::operator"},
        {"<alloc::vec::Vec<T> as core::ops::Drop>::drop", "<alloc::vec::Vec as core::ops::Drop>::drop"},
        {"core::run::h0123456789abcdef", "core::run"},
        {"app::{closure#0}::run", "app::{closure}::run"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char name[FRAME_NAME_BYTES];
        json_t *frame = json_pack("{s:s}", "function", cases[i].name);
        assert_string_equal(frame_name(frame, frame, name), cases[i].expected);
        json_decref(frame);
    }
}

static void a_group_shows_the_call_operator(void **state) {
    (void)state;
    static const struct {
        const char *name, *shown;
    } cases[] = {
        {"shop::render::Renderer<int>::operator()(float) const", "shop::render::Renderer::operator()"},
        {"on_tag()::{lambda(int)#1}::operator()(int) const", "on_tag::{lambda}::operator()"},
        {"A::operator bool() const", "A::operator bool"},
        {"my_operator(int)", "my_operator"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char name[FRAME_NAME_BYTES];
        json_t *frame = json_pack("{s:s}", "function", cases[i].name);
        frame_name(frame, frame, name);
        frame_name_show(name);
        assert_string_equal(name, cases[i].shown);
        json_decref(frame);
    }
    const struct grouping g = group(CPU OWN("R::operator()(int) const") END);
    assert_string_equal(g.function, "R::operator()");
    assert_string_equal(g.place, ""); /* the program's own file is no place */
    assert_string_equal(group(CPU GLIB("g_wait") END).place, "libglib-2.0.so.0");
    assert_non_null(strstr(g.path, "own R::operator\n")); /* as in the groups that stores have */
}

static void a_cut_name_is_still_text(void **state) {
    (void)state;
    char text[2 * FRAME_NAME_BYTES], name[FRAME_NAME_BYTES];
    for (size_t i = 0; i + 2 < sizeof text; i += 2) {
        memcpy(text + i, "\xc3\xa4", 3);
    }
    json_t *frame = json_pack("{s:s}", "function", text);
    json_t *read = json_string(frame_name(frame, frame, name));
    assert_non_null(read);
    json_decref(read);
    json_decref(frame);
}

static void a_librarys_frame_names_the_lambda_that_it_calls(void **state) {
    (void)state;
    static const struct {
        const char *name, *expected; /* NULL: none */
    } cases[] = {
        {"void std::__invoke_impl<void, ns::f(int)::{lambda()#1}>(std::__invoke_other)",
         "ns::f::{lambda}::operator"},
        {"__invoke_impl<void, (anonymous namespace)::f(std::vector<A>&, int)::<lambda(A&)> >",
         "f::{lambda}::operator"},
        {"std::thread::_State_impl<std::tuple<ns::f()::$_2> >::_M_run()", "ns::f::{lambda}::operator"},
        {"std::_Function_handler<void (int), A::f(int) const::{lambda(int)#1}>::_M_invoke()",
         "A::f::{lambda}::operator"},
        {"std::call<std::once(int)::{lambda()#1}>::run()", NULL},
        {"std::sort<int*>", NULL},
        {"::{lambda", NULL},
        {"<,::$_", NULL},
        {"))>>::<lambda", "))>>::{lambda}::operator"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char name[FRAME_NAME_BYTES];
        json_t *frame = json_pack("{s:s}", "function", cases[i].name);
        assert_int_equal(frame_name_of_lambda(frame, name), cases[i].expected != NULL);
        if (cases[i].expected != NULL) {
            assert_string_equal(name, cases[i].expected);
        }
        json_decref(frame);
    }
    assert_one(CPU OWN("on_tag()::{lambda()#1}::operator()() const") END,
               CPU OWN("void std::__invoke_impl<void, on_tag()::{lambda()#1}>(std::__invoke_other)") END);
}

static void a_function_without_a_name_is_none_of_a_bugs(void **state) {
    (void)state;
    assert_one(CPU OWN("operator()(int) const") "," OWN("rank") END, CPU OWN("rank") END);
    assert_one(CPU SCRIPT("(anonymous)") "," SCRIPT("rank") "," SCRIPT("(anonymous)") END,
               CPU SCRIPT("rank") END);
    assert_string_equal(group(CPU SCRIPT("(anonymous)") END).function, "(anonymous)"); /* there is no other */
    assert_one(CPU SCRIPT("rank") "," SCRIPT("<module>") END, CPU SCRIPT("rank") END);
}

static void node_inlines_a_function_that_it_calls_often(void **state) {
    (void)state;
    struct grouping whole = group(CPU SCRIPT("score") "," SCRIPT("rank") "," SCRIPT("on_refresh") END);
    struct grouping compiled = group(CPU SCRIPT("rank") "," SCRIPT("on_refresh") END);
    assert_string_equal(compiled.family, whole.family);
    assert_int_equal(alike(compiled.frames, whole.frames), ALIKE_WHOLE);
    compiled = group(CPU SCRIPT("on_refresh") END);
    assert_int_equal(alike(compiled.frames, whole.frames), ALIKE_NOT);
}

static void other_builds_are_one_group(void **state) {
    (void)state;
    assert_one(CPU OWN("resize.part.0") "," OWN("main") END, CPU OWN("resize") "," OWN("main") END);
    assert_one(CPU OWN("walk") "," OWN("walk") "," OWN("walk") END, CPU OWN("walk") END); /* recursion */
    assert_one(CPU GLIB("g_free") "," OWN("f") END, CPU GLIB("g_malloc") "," OWN("f") END);
}

static void other_functions_causes_and_apps_are_others(void **state) {
    (void)state;
    assert_two(CPU OWN("f") END, CPU OWN("g") END);
    assert_two(CPU OWN("f") "," OWN("a") END, CPU OWN("f") "," OWN("b") END);
    assert_two(CPU OWN("f") END, "'cause':{'kind':'network'},'hot_stack':{'frames':[" OWN("f") END);
}

static void what_the_loop_is_called_by_does_not_count(void **state) {
    (void)state;
    assert_one(CPU OWN("f") "," GLIB("g_main_context_dispatch") "," OWN("main") END,
               CPU OWN("f") "," GLIB("g_main_context_dispatch") "," OWN("run_dialog") "," OWN("main") END);
}

#define LOOP GLIB("g_main_context_dispatch") "," GLIB("g_main_loop_run")

static void where_the_app_only_calls_the_loop_the_librarys_functions_count(void **state) {
    (void)state;
    assert_two(CPU GLIB("g_utf8_pointer_to_offset") "," LOOP "," OWN("main") END,
               CPU GLIB("g_markup_parse") "," LOOP "," OWN("main") END);
    assert_two(CPU GLIB("g_utf8_pointer_to_offset") "," LOOP "," OWN("run") "," OWN("main") END,
               CPU GLIB("g_markup_parse") "," LOOP "," OWN("run") "," OWN("main") END);
    assert_one(CPU GLIB("g_markup_parse") "," LOOP "," OWN("run") END,
               CPU GLIB("g_markup_parse") "," LOOP "," OWN("main") END);
    assert_string_equal(group(CPU GLIB("g_markup_parse") "," LOOP "," OWN("main") END).function,
                        "g_markup_parse");
    struct grouping inner =
        group(CPU GLIB("g_a") "," GLIB("g_b") "," GLIB("g_c") "," LOOP "," OWN("main") END);
    struct grouping outer = group(CPU GLIB("g_b") "," GLIB("g_c") "," LOOP "," OWN("main") END);
    struct grouping other = group(CPU GLIB("g_c") "," LOOP "," OWN("main") END);
    assert_string_equal(inner.family, outer.family);
    assert_int_equal(alike(outer.frames, inner.frames), ALIKE_WHOLE);
    assert_int_equal(alike(other.frames, inner.frames), ALIKE_NOT);
    char why[WHY_BYTES];
    assert_non_null(strstr(why_grouped(inner.path, why), "in its loop: g_a, which g_b called"));
}

static void a_leaf_with_little_time_does_not_count(void **state) {
    (void)state;
    assert_one(CPU "{'pc':'0x1','module':0,'function':'one_of_many','share':0.2}," OWN("f") END,
               CPU "{'pc':'0x1','module':0,'function':'another','share':0.1}," OWN("f") END);
}

#define WAITS(name, owner)                                                    \
    "'cause':{'kind':'lock','lock_owner_tid':9},'hot_stack':{'frames':[" OWN( \
        name) "]},'threads':[{'tid':9,'stack':"                               \
              "{'frames':[" OWN(owner) "]}}]"

static void a_lock_is_grouped_by_its_owner(void **state) {
    (void)state;
    assert_one(WAITS("lookup", "compact"), WAITS("insert", "compact"));
    assert_two(WAITS("lookup", "compact"), WAITS("lookup", "flush"));
    struct grouping g = group(WAITS("lookup", "compact"));
    assert_string_equal(g.function, "compact");
    assert_true(g.by_owner);
}

#define RING(watched, other)                                                                   \
    "'cause':{'kind':'lock','lock_owner_tid':2,'deadlock':[1,2]},'hot_stack':{'frames':[" OWN( \
        watched) "]},'threads':[{'tid':2,'stack':{'frames':[" OWN(other) "]}}]"

static void a_deadlock_is_one_whichever_thread_is_watched(void **state) {
    (void)state;
    assert_one(RING("update", "flush"), RING("flush", "update"));
    assert_two(RING("update", "flush"), RING("update", "compact"));
}

static void without_names_functions_differ_by_their_start(void **state) {
    (void)state;
    assert_two(CPU "{'pc':'0x1','module':0,'start':'0x10'}" END,
               CPU "{'pc':'0x1','module':0,'start':'0x20'}" END);
    assert_one(CPU "{'pc':'0x11','module':0,'start':'0x10'}" END,
               CPU "{'pc':'0x19','module':0,'start':'0x10'}" END);
}

static void a_busy_machine_is_no_other_bug(void **state) {
    (void)state;
    assert_one(CPU OWN("f") END, "'cause':{'kind':'starved'},'hot_stack':{'frames':[" OWN("f") END);
    assert_one(CPU OWN("f") END, "'cause':{'kind':'disk'},'hot_stack':{'frames':[" OWN("f") END);
    assert_one(CPU OWN("f") END, "'cause':{'kind':'gc'},'hot_stack':{'frames':[" OWN("f") END);
}

static void the_standard_library_does_not_count(void **state) {
    (void)state;
    assert_one(CPU OWN("f") "," OWN("void std::__invoke_impl<void, f()::{lambda()#1}&>(int)") "," OWN("main")
                   END,
               CPU OWN("f") "," OWN("main") END);
}

#define WHOLE "whole\n!match\n!find_all\n!search\n!on_search\n!main\n"

static void a_build_without_debug_information_lacks_functions(void **state) {
    (void)state;
    assert_int_equal(alike("partial\n!on_search\n!main\n", WHOLE), ALIKE_WHOLE);
    assert_int_equal(alike(WHOLE, "partial\n!on_search\n!main\n"), ALIKE_PART);
    assert_int_equal(alike("whole\n!on_search\n!main\n", WHOLE), ALIKE_NOT); /* here it is on_search itself */
    assert_int_equal(alike("partial\n!on_open\n!main\n", WHOLE), ALIKE_NOT);
    assert_int_equal(alike("partial\n!on_search\n!match\n", WHOLE), ALIKE_NOT); /* another order */
}

static void a_tail_call_takes_its_callers_frame(void **state) {
    (void)state;
    assert_int_equal(alike("whole\n!match\n!find_all\n!search\n!main\n", WHOLE), ALIKE_WHOLE);
    assert_int_equal(alike("calls\n!on_sort\n!main\n", "whole\n!sort_rows\n!on_sort\n!main\n"), ALIKE_WHOLE);
    assert_int_equal(alike("calls\n!on_sort\n!main\n", "whole\n!compare\n!sort_rows\n!on_sort\n!main\n"),
                     ALIKE_NOT);
}

static void a_leaf_has_more_or_less_than_half(void **state) {
    (void)state;
    assert_int_equal(alike("whole\n+find_all\n!search\n!on_search\n!main\n",
                           "whole\n?find_all\n!search\n!on_search\n!main\n"),
                     ALIKE_SAME);
    assert_int_equal(alike("whole\n!find_all\n!search\n!on_search\n!main\n", WHOLE), ALIKE_WHOLE);
    assert_int_equal(alike("whole\n+match\n!find_all\n!search\n!main\n", WHOLE), ALIKE_WHOLE);
    assert_int_equal(alike("whole\n+lex\n!find_all\n!search\n!main\n", WHOLE), ALIKE_NOT);
    assert_int_equal(alike("whole\n+pack\n+on_archive\n", "whole\n?pack\n!on_archive\n"), ALIKE_SAME);
    assert_int_equal(alike("whole\n!verify\n!on_open\n!main\n", "whole\n!load\n!on_open\n!main\n"),
                     ALIKE_NOT);
    assert_int_equal(
        alike("whole\n!sum\n!verify\n!on_open\n!main\n", "whole\n!sum\n!save\n!on_save\n!main\n"), ALIKE_NOT);
}

static void debug_information_may_lack_what_a_function_is_in(void **state) {
    (void)state;
    assert_int_equal(alike("whole\n!get\n!on_thumb\n", "whole\n!Cache::get\n!on_thumb\n"), ALIKE_SAME);
    assert_int_equal(alike("whole\n!et\n!on_thumb\n", "whole\n!Cache::get\n!on_thumb\n"), ALIKE_NOT);
}

static void a_person_reads_why(void **state) {
    (void)state;
    char why[WHY_BYTES];
    struct grouping g = group(CPU OWN("resize") "," OWN("on_save") "," OWN("main") END);
    assert_string_equal(
        why_grouped(g.path, why),
        "The reports of this group are of shop, have the cause \"own work\", and had at least half of "
        "their time in resize, which on_save called. Builds in which some of these functions are inlined "
        "or gone by a tail call are in it, too.");
    g = group(WAITS("lookup", "compact"));
    assert_non_null(strstr(why_grouped(g.path, why), "and the lock's owner was in compact."));
    assert_null(strstr(why, "So who waited counts."));
    g = group("'cause':{'kind':'lock','lock_owner_tid':9},'threads':[{'tid':9,'state':'running'}],"
              "'hot_stack':{'frames':[" OWN("lookup") "]}");
    assert_non_null(strstr(why_grouped(g.path, why), "it ran, or is not known. So who waited counts."));
    g = group(RING("update", "flush"));
    assert_non_null(strstr(why_grouped(g.path, why), "wait for each other in flush and update."));
    assert_non_null(strstr(why_grouped("", why), "no stack"));
}

static void hostile_reports_have_a_group_too(void **state) {
    (void)state;
    struct grouping g = group(
        "'hot_stack':{'frames':[{'pc':'0x1','module':99}]},'cause':{'kind':'lock','lock_owner_tid':77}");
    assert_int_equal(strlen(g.fingerprint), GROUPING_HEX);
    g = group("'hot_stack':{'frames':[]},'cause':{'kind':'cpu','deadlock':[1,1,1,1,1,1,1,1,1,1,1,1]}");
    assert_string_equal(g.function, "no stack");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names),
        cmocka_unit_test(a_group_shows_the_call_operator),
        cmocka_unit_test(a_cut_name_is_still_text),
        cmocka_unit_test(a_librarys_frame_names_the_lambda_that_it_calls),
        cmocka_unit_test(a_function_without_a_name_is_none_of_a_bugs),
        cmocka_unit_test(node_inlines_a_function_that_it_calls_often),
        cmocka_unit_test(other_builds_are_one_group),
        cmocka_unit_test(other_functions_causes_and_apps_are_others),
        cmocka_unit_test(what_the_loop_is_called_by_does_not_count),
        cmocka_unit_test(where_the_app_only_calls_the_loop_the_librarys_functions_count),
        cmocka_unit_test(a_leaf_with_little_time_does_not_count),
        cmocka_unit_test(a_lock_is_grouped_by_its_owner),
        cmocka_unit_test(a_deadlock_is_one_whichever_thread_is_watched),
        cmocka_unit_test(without_names_functions_differ_by_their_start),
        cmocka_unit_test(a_busy_machine_is_no_other_bug),
        cmocka_unit_test(the_standard_library_does_not_count),
        cmocka_unit_test(a_build_without_debug_information_lacks_functions),
        cmocka_unit_test(a_tail_call_takes_its_callers_frame),
        cmocka_unit_test(a_leaf_has_more_or_less_than_half),
        cmocka_unit_test(debug_information_may_lack_what_a_function_is_in),
        cmocka_unit_test(a_person_reads_why),
        cmocka_unit_test(hostile_reports_have_a_group_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
