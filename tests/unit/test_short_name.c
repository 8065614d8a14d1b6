/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/render/short_name.h"

static void names_lose_what_makes_them_long(void **state) {
    static const struct {
        const char *name, *in_44;
    } cases[] = {
        {"poll", "poll"},
        {"QCoreApplication::exec()", "QCoreApplication::exec()"},
        {"f(unsigned long, unsigned long, int)", "f(unsigned long, unsigned long, int)"}, /* it fits */
        {"QEventLoop::exec(QFlags<QEventLoop::ProcessEventsFlag>)", "QEventLoop::exec(...)"},
        {"QDBusConnection::call(QDBusMessage const&, QDBus::CallMode, int) const",
         "QDBusConnection::call(...) const"},
        {"std::vector<std::pair<int, std::string>, std::allocator<std::string> >::at(unsigned long)",
         "std::vector<...>::at(...)"},
        {"std::function<void (std::string const&, unsigned long)>::operator()(std::string const&) const",
         "std::function<...>::operator()(...) const"},
        {"std::ostream& std::operator<< <std::char_traits<char> >(std::ostream&, char const*)",
         "std::ostream& std::operator<< <...>(...)"},
        {"bool operator><a_library::a_class_of_it, another>(a_library::a_class_of_it const&)",
         "bool operator><...>(...)"},
        {"a_namespace_of_a_library::a_class_of_it::operator>(a_namespace_of_a_library::a_class_of_it const&)",
         "...::a_class_of_it::operator>(...)"},
        {"std::ostream& a_library::operator<<(std::ostream&, a_library::a_class_of_it const&)",
         "std::ostream& a_library::operator<<(...)"},
        {"std::unique_ptr<a_library::a_class_of_it, std::default_delete<a_library::a_class_of_it> >::operator->() const",
         "std::unique_ptr<...>::operator->() const"},
        {"std::strong_ordering operator<=><a_library::a_class_of_it>(a_library::a_class_of_it const&)",
         "std::strong_ordering operator<=><...>(...)"},
        {"bool operator< <a_library::a_class_of_it>(a_library::a_class_of_it const&)",
         "bool operator< <...>(...)"},
        {"std::istream& a_library::operator>><a_class, another>(std::istream&, another<a_class>&)",
         "...::operator>><...>(...)"},
        {"operator()<__gnu_cxx::__normal_iterator<char*, std::string>, int>(int)", "operator()<...>(int)"},
        {"a_function<&(a_library::operator> (a_library::a_class_of_it const&))>::call(a_library::a_class)",
         "a_function<...>::call(...)"},
        {"a_namespace_of_a_library::a_class_of_it::my_operator<std::vector<std::string> >()",
         "...::a_class_of_it::my_operator<...>()"},
        {"std::_Function_handler<void (int, char), app::init(char)::{lambda(int, char)#1}>::_M_invoke(std::_Any_data const&)",
         "app::init(char)::{lambda(int, char)#1}"},
        {"std::_Function_handler<void (int), a_library::a_template<int, std::vector<std::string> > >::_M_invoke(int&&)",
         "a_library::a_template<...>"},
        {"std::_Function_handler<void (int), a_name_that_was_cut_somewhere",
         "_Function_handler<void (int), a_name_that_was_cut_somewhere"},
        {"(anonymous namespace)::handler(std::string const&, unsigned long long)",
         "(anonymous namespace)::handler(...)"},
        {"a_namespace_of_a_library::(anonymous namespace)", "...::(anonymous namespace)"},
        {"a_namespace_of_a_library::a_class_of_it::operator()", "...::a_class_of_it::operator()"},
        {"<alloc::boxed::Box<F, A> as core::ops::function::FnOnce<Args> >::call_once", "call_once"},
        {"core::ptr::drop_in_place::<app::a_module_of_it::a_type_of_it>", "core::ptr::drop_in_place::<...>"},
        {"std::thread::lifecycle::spawn_unchecked::<app::main::{closure#3}, ()>::{closure#1}",
         "...::spawn_unchecked::<...>::{closure#1}"},
        {"std::a_function_of_quite_a_long_name_that_stays::<u8>",
         "a_function_of_quite_a_long_name_that_stays::<u8>"},
        {"core::fmt::num::imp::<impl core::fmt::Display for i32>::fmt",
         "...::<impl core::fmt::Display for i32>::fmt"},
        {"std::vector<int> app::a_function_of_quite_a_long_name_that_stays(std::vector<int>)",
         "a_function_of_quite_a_long_name_that_stays"},
        {"app::a_function_of_quite_a_long_name_that_stays(int)::{lambda(int)#1}", "...::{lambda(int)#1}"},
        {"app::f::{lambda(a_type_of_a_library, a_type_of_a_library)#1}", "app::f::{lambda(...)#1}"},
        {"app::a_class_with_a_name_of_some_length_and_more::operator()(int)", "...::operator()(int)"},
        {"a_function_of_c_with_quite_a_long_name_that_stays_whole",
         "a_function_of_c_with_quite_a_long_name_that_stays_whole"},
        {"a_name_that_was_cut_somewhere_in_the_middle_of<std::vector<",
         "a_name_that_was_cut_somewhere_in_the_middle_of<std::vector<"},
        {"parentheses_that_do_not_match_in_a_name_that_is_cut)",
         "parentheses_that_do_not_match_in_a_name_that_is_cut)"},
        {"", ""},
    };
    (void)state;
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *text = short_name(cases[i].name, 44);
        assert_string_equal(cases[i].in_44, text);
        free(text);
    }
}

/* In a column that is too narrow for its namespace a function has its bare name. */
static void bare_names_keep_operators(void **state) {
    static const struct {
        const char *name, *in_12;
    } cases[] = {
        {"void a_library::Rows<int>::update(int)", "update"},
        {"main::{lambda(int)#1}::operator()(int) const", "operator()"},
        {"a_library::a_class_of_it::operator new(unsigned long)", "operator new"},
        {"a_library::a_class_of_it::operator std::string() const", "operator std::string"},
        {"a_library::a_class_of_it::my_operator(int) const", "my_operator"},
        {"a_library::a_class_of_it::operator==(int) const", "operator=="},
    };
    (void)state;
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *text = short_name(cases[i].name, 12);
        assert_string_equal(cases[i].in_12, text);
        free(text);
    }
}

/* A report comes from anywhere. */
static void hostile_names_take_no_longer(void **state) {
    const size_t bytes = 1 << 20;
    static const char *const parts[] = {
        "a<",         "a<>", "a<b>c",     "a<bcdef>",     "(",
        ")",          "()",  "a<(",       "::",           "a<::",
        "operator<<", "<",   "operator>", "operator< <a", "std::_Function_handler<, "};
    char *name = malloc(bytes + 1);
    (void)state;
    assert_non_null(name);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        const size_t n = strlen(parts[i]);
        for (size_t at = 0; at < bytes; at++) {
            name[at] = parts[i][at % n];
        }
        name[bytes] = '\0';
        clock_t begin = clock();
        char *text = short_name(name, 44);
        double took = (double)(clock() - begin) / CLOCKS_PER_SEC;
        free(text);
        print_message("1 MiB of %s: %.3f s\n", parts[i], took);
        assert_true(took < 1);
    }
    free(name);
}

static void width_counts_characters(void **state) {
    (void)state;
    assert_int_equal(4, name_width("Zeit"));
    assert_int_equal(5, name_width("\xc3\x9c"
                                   "bung"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_lose_what_makes_them_long),
        cmocka_unit_test(bare_names_keep_operators),
        cmocka_unit_test(hostile_names_take_no_longer),
        cmocka_unit_test(width_counts_characters),
    };
    return cmocka_run_group_tests_name("short_name", tests, NULL, NULL);
}
