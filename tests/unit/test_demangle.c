/* SPDX-License-Identifier: MIT
 *
 * Names of functions as a person wrote them, and those that would cost too much.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "symbolizer/symbolizer.h"

#include "symbolizer/demangle.h"

static void names_are_demangled(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"main", "main"},
        {"", ""},
        {"_start", "_start"},
        {"_ZN3foo3barEi", "foo::bar(int)"},
        {"_ZNSt6vectorIiSaIiEE9push_backERKi",
         "std::vector<int, std::allocator<int> >::push_back(int const&)"},
        {"_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write"},
        {"_ZN4core3fmt5write17h0123456789abcdexE", "core::fmt::write::h0123456789abcdex"},
        {"_ZN4core3fmt5write17h0123456789abcdefE.llvm.12345", "core::fmt::write"},
        {"_ZN3app4main28_$u7b$$u7b$closure$u7d$$u7d$17h0123456789abcdefE", "app::main::{{closure}}"},
        {"_ZN56_$LT$alloc..vec..Vec$LT$T$GT$$u20$as$u20$app..Encode$GT$6encode17h0123456789abcdefE",
         "<alloc::vec::Vec<T> as app::Encode>::encode"},
        {"_ZN34_$LT$$RF$$LP$A$C$B$RP$$GT$$SP$$BP$1f17h0123456789abcdefE", "<&(A,B)>@*::f"},
        {"_ZN25$odd$$u7$$u00$$u7f$$u12x$17h0123456789abcdefE", "$odd$$u7$$u00$$u7f$$u12x$"},
        {"_ZN3app1$17h0123456789abcdefE", "app::$"},
        {"_ZN3app9_$LT$a..bEv", "app::_$LT$a..b()"},
        {"_ZNope", "_ZNope"},
        {"_Z", "_Z"},
        {"_RNvC6_123foo3bar", "123foo::bar"},
        {"_RNvNtNtCsjrHSEGnQ3l9_3std6thread9functions5sleep", "std::thread::functions::sleep"},
        {"_RNvNtNtCsjrHSEGnQ3l9_3std6thread9functions5sleep.llvm.123", "std::thread::functions::sleep"},
        {"_RINvNtCs6xxl1lAjzDf_1a4deep3genDG_INtNtNtCsgEmfK2I1SDS_4core3ops8function2FnTRL0_hEEp6OutputRL0_hEL_EB4_",
         "a::deep::gen::<dyn for<'a> core::ops::function::Fn<(&'a u8,), Output = &'a u8>>"},
        {"_RINvNtCs6xxl1lAjzDf_1a4deep3genFG0_RL1_hRL0_hEmEB4_",
         "a::deep::gen::<for<'a, 'b> fn(&'a u8, &'b u8) -> u32>"},
        {"_RINvNtCs6xxl1lAjzDf_1a4deep3genFKClEuEB4_", "a::deep::gen::<extern \"C\" fn(i32)>"},
        {"_RINvNtCsgEmfK2I1SDS_4core3ptr13drop_in_placeNCNvCs6xxl1lAjzDf_1a4mains1_0EB1J_",
         "core::ptr::drop_in_place::<a::main::{closure#3}>"},
        {"_RNCNvCs6xxl1lAjzDf_1a4mains_0B3_", "a::main::{closure#1}"},
        {"_RNSNvYNCNvCs6xxl1lAjzDf_1a4mains_0INtNtNtCsgEmfK2I1SDS_4core3ops8function6FnOnceTRhEE9call_once6vtableB8_",
         "<a::main::{closure#1} as core::ops::function::FnOnce<(&u8,)>>::call_once::{shim:vtable#0}"},
        {"_RNvMs0_NtCs6xxl1lAjzDf_1a4deepINtB5_1IKln5_E2goB7_", "<a::deep::I<-5>>::go"},
        {"_RNvMs_NtCs6xxl1lAjzDf_1a4deepINtB4_1SKj5_Kce4_Kb0_E2goB6_",
         "<a::deep::S<5, '\\u{e4}', false>>::go"},
        {"_RNvNtCs6xxl1lAjzDf_1a4deepu9gre_6ka8i", "a::deep::größe"},
        {"_RNvXNtCs6xxl1lAjzDf_1a4deepINtNtCslNYArtu3iFV_5alloc3vec3VechEINtB2_3FooThcAtj4_EE3fooB4_",
         "<alloc::vec::Vec<u8> as a::deep::Foo<(u8, char, [u16; 4])>>::foo"},
        {"_RNvC1au7ab_xd9k", "a::ab\ud7ff"},
        {"_RNvC1au7ab_ke4l", "a::ab\ue000"},
        {"_RNvC1au8ab_le24y", "a::ab\U0010ffff"},
        {"_RNvC1au7ab_zd9k", "_RNvC1au7ab_zd9k"}, /* no character, and no UTF-8: surrogates, */
        {"_RNvC1au7ab_he4l", "_RNvC1au7ab_he4l"},
        {"_RNvC1au8ab_oe24y", "_RNvC1au8ab_oe24y"}, /* and what is beyond the last one */
        {"_RNvC1au9ab_sv323a", "_RNvC1au9ab_sv323a"},
        {"_RNvC1au9ab_8t942c", "_RNvC1au9ab_8t942c"},
        {"_RNvC1au9ab_4p583h", "_RNvC1au9ab_4p583h"},
        {"_Reset", "_Reset"},
        {"_RNvC3ap", "_RNvC3ap"},
        {"_RC0", "_RC0"},
        {"_RNvC3app7CFGuard", "app::CFGuard"},
        {"_RINvNtC3app7CFGuard4FkDgFG_RL0_hEuE", "app::CFGuard::FkDg::<for<'a> fn(&'a u8)>"},
        {"_RNvCs1xDGV85I1S7_12rustc_traits3fun", "rustc_traits::fun"},
        {"_R", "_R"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *name = symbolizer_demangle(cases[i][0]);
        assert_string_equal(name, cases[i][1]);
        free(name);
    }
}

/* A second and more for one name would be too long: a report has thousands. */
static void is_unchanged(const char *name) {
    clock_t begin = clock();
    char *same = symbolizer_demangle(name);
    assert_string_equal(same, name);
    free(same);
    assert_true(clock() - begin < CLOCKS_PER_SEC);
}

static void leaves_a_name_that_would_explode(void **state) {
    (void)state;
    char bomb[2048];
    size_t used = (size_t)snprintf(bomb, sizeof bomb, "_Z1f3aaaIiiE");
    for (int i = 0; i < 60; i++) { /* each substitution doubles what the one before stands for */
        used += (size_t)snprintf(bomb + used, sizeof bomb - used, "3aaaIS_S_E");
    }
    char *name = symbolizer_demangle(bomb);
    assert_true(strlen(name) <= 8192);
    free(name);
    /* and so does each tuple of the one before */
    is_unchanged("_RINvC1a1fTuuETB7_B7_ETBb_Bb_ETBj_Bj_ETBr_Br_ETBz_Bz_ETBH_BH_ETBP_BP_ETBX_BX_ETB15_B15_E"
                 "TB1d_B1d_ETB1n_B1n_ETB1x_B1x_ETB1H_B1H_ETB1R_B1R_ETB21_B21_ETB2b_B2b_ETB2l_B2l_E"
                 "TB2v_B2v_ETB2F_B2F_ETB2P_B2P_ETB2Z_B2Z_ETB39_B39_ETB3j_B3j_ETB3t_B3t_ETB3D_B3D_E"
                 "TB3N_B3N_ETB3X_B3X_ETB47_B47_ETB4h_B4h_ETB4r_B4r_ETB4B_B4B_ETB4L_B4L_ETB4V_B4V_EE");
}

static void leaves_hostile_names_of_rust(void **state) {
    (void)state;
    is_unchanged("_RMIC1aFGzzzzzzzzzz_EuEC1a"); /* for<'a, 'b, ...> of more than anybody counts */
    is_unchanged("_RINvC1a1fDGzzzzzzzzzz_EL_E");
    is_unchanged("_RINvC1a30FkFgFqFrFwF0F1F2F3F4F5F6F7F8F9FGzzzzzzzzzz_EuE");
    is_unchanged("_RNvB_1f"); /* in itself */
    is_unchanged("_RINvC1a1fTB7_E");
    is_unchanged("_RINvC1a1fBzzzzzzzzzzzz_E");
    is_unchanged("_RC18446744073709551615a");
    is_unchanged("_RCu18446744073709551615_a");
    is_unchanged("_RCu9_999999999");
    is_unchanged("_RINvC1a1fKj00000000000000000000000000000000");
}

static void leaves_a_name_that_nests_too_deep(void **state) {
    (void)state;
    static const struct {
        const char *begin;
        char fill;
        int bytes;
    } cases[] = {{"_Z1f", 'P', 100000},
                 {"_RINvC1a1f", 'R', 4000},
                 {"_RINvC1a1f", 'T', 4000},
                 {"_RM", 'N', 4000},
                 {"_RINvC1a1f", 'R', 100000}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *deep = malloc((size_t)cases[i].bytes + 1);
        assert_non_null(deep);
        memset(deep, cases[i].fill, (size_t)cases[i].bytes);
        memcpy(deep, cases[i].begin, strlen(cases[i].begin));
        deep[cases[i].bytes] = 0;
        is_unchanged(deep);
        free(deep);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_demangled),
        cmocka_unit_test(leaves_a_name_that_would_explode),
        cmocka_unit_test(leaves_hostile_names_of_rust),
        cmocka_unit_test(leaves_a_name_that_nests_too_deep),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
