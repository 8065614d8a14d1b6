/* SPDX-License-Identifier: MIT
 *
 * Names of Swift: what a person reads, what stays mangled, and names that are damaged.
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

#include "symbolizer/swift_name.h"

#include "symbolizer/block_name.h"
#include "symbolizer/demangle.h"
#include "symbolizer/swift_punycode.h"

#define MUTATIONS 20000

/* Mangled names of test/Demangle/Inputs/manglings.txt in swiftlang/swift. Its full forms, without modules and
 * types, are the texts here. */
static const char *const documented[][2] = {
    {"_$s3foo3barC3bas3zimyAaEC_tFTo", "@objc bar.bas(zim:)"},
    {"_$sSC3fooyS2d_SdtFTO", "@nonobjc foo(_:_:)"},
    {"_$S3foo3barC3bas3zimyAaEC_tFTo", "@objc bar.bas(zim:)"},
    {"_$SSC3fooyS2d_SdtFTO", "@nonobjc foo(_:_:)"},
    {"_$Ss17MutableCollectionP1asAARzs012RandomAccessB0RzsAA11SubSequences013BidirectionalB0PRpzsAdHRQlE06rotatecD015shiftingToStart5Indexs01_A9IndexablePQzAN_tFAKs01_M4BasePQzAQcfU_",
     "closure #1 in MutableCollection.rotateRandomAccess(shiftingToStart:)"},
    {"_$S4main5inneryys5Int32Vz_yADctF25closure_with_box_argumentxz_Bi32__lXXTf1nc_n",
     "specialized inner(_:_:)"},
    {"_$S3foo6testityyyyc_yyctF1a1bTf3pfpf_n", "specialized testit(_:_:)"},
    {"_$Ss10DictionaryV3t17E6Index2V1loiySbAEyxq__G_AGtFZ", "static Dictionary.Index2.<(_:_:)"},
    {"_$S8mangling14varargsVsArray3arr1nySid_SStF", "varargsVsArray(arr:n:)"},
    {"_$S8mangling14varargsVsArray3arr1nySaySiGd_SStF", "varargsVsArray(arr:n:)"},
    {"_$S8mangling14varargsVsArray3arrySaySiGd_tF", "varargsVsArray(arr:)"},
    {"_$S10Foundation11MeasurementV12SimulatorKitSo9UnitAngleCRszlE11OrientationO2eeoiySbAcDEAGOyAF_G_AKtFZ",
     "static Measurement.Orientation.==(_:_:)"},
    {"_$S4test6testitySiyt_tF", "testit(_:)"},
    {"_$S3abc6testityySiFTm", "merged testit(_:)"},
    {"_$S4main4TestC1xACSi_tc6_PRIV_Llfc", "Test.init(x:)"},
    {"$s20mangling_retroactive5test0yyAA1ZVy12RetroactiveB1XVSiAE1YVAG0D1A1PAAyHCg_AiJ1QAAyHCg1_GF",
     "test0(_:)"},
    {"$s20mangling_retroactive5test0yyAA1ZVy12RetroactiveB1XVSiAE1YVAG0D1A1PHPyHCg_AiJ1QHPyHCg1_GF",
     "test0(_:)"},
    {"$s20mangling_retroactive5test0yyAA1ZVy12RetroactiveB1XVSiAE1YVAG0D1A1PHpyHCg_AiJ1QHpyHCg1_GF",
     "test0(_:)"},
    {"$s3Bar3FooVAA5DrinkVyxGs5Error_pSeRzSERzlyShy4AbcdAHO6MemberVGALSeHPAKSeAAyHC_HCg_ALSEHPAKSEAAyHC_HCg0_Iseggozo_SgWOe",
     "outlined consume"},
    {"$s4Test5ProtoP8IteratorV10collectionAEy_qd__Gqd___tcfc", "Proto.Iterator.init(collection:)"},
    {"$s4test3fooV4blahyAA1SV1fQryFQOy_Qo_AHF", "foo.blah(_:)"},
    {"$s4Test6testityyxlFAA8MystructV_TB5", "specialized testit(_:)"},
    {"$s4test3StrCACycfC", "Str.__allocating_init()"},
    {"$s18keypaths_inlinable13KeypathStructV8computedSSvpACTKq",
     "key path getter for KeypathStruct.computed"},
    {"$s3red4testyAA3ResOyxSayq_GAEs5ErrorAAq_sAFHD1__HCg_GADyxq_GsAFR_r0_lF", "test(_:)"},
    {"$s3red4testyAA7OurTypeOy4them05TheirD0Vy5AssocQzGAjE0F8ProtocolAAxAA0c7DerivedH0HD1_AA0c4BaseH0HI1_AieKHA2__HCg_GxmAaLRzlF",
     "test(_:)"},
    {"$s17property_wrappers10WithTuplesV9fractionsSd_S2dtvpfP",
     "property wrapper backing initializer of WithTuples.fractions"},
    {"$sSo17OS_dispatch_queueC4sync7executeyyyXE_tFTOTA",
     "partial apply for @nonobjc OS_dispatch_queue.sync(execute:)"},
    {"$s4main1gyySiXCvp", "g"},
    {"$s4main1gyySiXBvp", "g"},
    {"$s7example1fyyYaF", "f()"},
    {"$s7example1fyyYaKF", "f()"},
    {"$s4main20receiveInstantiationyySo34__CxxTemplateInst12MagicWrapperIiEVzF", "receiveInstantiation(_:)"},
    {"$s4main19returnInstantiationSo34__CxxTemplateInst12MagicWrapperIiEVyF", "returnInstantiation()"},
    {"$s4main6testityyYaFTu", "async function pointer to testit()"},
    {"$s13test_mangling3fooyS2f_S2ftF", "foo(_:_:_:)"},
    {"$s13test_mangling3fooyS2f_xq_t16_Differentiation14DifferentiableR_r0_lF", "foo(_:_:_:)"},
    {"$s13test_mangling4foo21xq_x_t16_Differentiation14DifferentiableR_AA1P13TangentVectorRp_r0_lF",
     "foo2(x:)"},
    {"$s39differentiation_subset_parameters_thunk19inoutIndirectCalleryq_x_q_q0_t16_Differentiation14DifferentiableRzAcDR_AcDR0_r1_lF",
     "inoutIndirectCaller(_:_:_:)"},
    {"$s5async1hyyS2iYbXEF", "h(_:)"},
    {"$s5Actor02MyA0C17testAsyncFunctionyyYaKFTY0_",
     "(1) suspend resume partial function for MyActor.testAsyncFunction()"},
    {"$s5Actor02MyA0C17testAsyncFunctionyyYaKFTQ1_",
     "(2) await resume partial function for MyActor.testAsyncFunction()"},
    {"$s4diff1hyyS2iYjfXEF", "h(_:)"},
    {"$s4test3fooyyS2f_SfYkztYjrXEF", "foo(_:)"},
    {"$s4test3fooyyS2f_SfYkntYjrXEF", "foo(_:)"},
    {"$s4test3fooyyS2f_SfYktYaYbYjrXEF", "foo(_:)"},
    {"$s4test10returnsOptyxycSgxyScMYccSglF", "returnsOpt(_:)"},
    {"$s1t10globalFuncyyAA7MyActorCYiF", "globalFunc(_:)"},
    {"$s17distributed_thunk2DAC1fyyFTE", "distributed thunk DA.f()"},
    {"$s16distributed_test1XC7computeyS2iFTF", "distributed accessor for X.compute(_:)"},
    {"$s1A3bar1aySSYt_tF", "bar(a:)"},
    {"$s1t1fyyFSiAA3StrVcs7KeyPathCyADSiGcfu_SiADcfu0_33_556644b740b1b333fecb81e55a7cce98ADSiTf3npk_n",
     "specialized implicit closure #2 in implicit closure #1 in f()"},
    {"$s21back_deploy_attribute0A12DeployedFuncyyFTwb", "back deployment thunk for backDeployedFunc()"},
    {"$s21back_deploy_attribute0A12DeployedFuncyyFTwB", "back deployment fallback for backDeployedFunc()"},
    {"$s4test3fooyyAA1P_px1TRts_XPlF", "foo(_:)"},
    {"$s4test3fooyyAA1P_pSS1TAaCPRts_Si1UAERtsXPF", "foo(_:)"},
    {"$s4test3FooVAAyyAA1P_pF", "Foo.test(_:)"},
    {"$sxIeghHr_xs5Error_pIegHrzo_s8SendableRzs5NeverORs_r0_lTRTATQ0_",
     "(1) await resume partial function for partial apply for reabstraction thunk"},
    {"$sxIeghHr_xs5Error_pIegHrzo_s8SendableRzs5NeverORs_r0_lTRTY_",
     "(0) suspend resume partial function for reabstraction thunk"},
    {"$s12typed_throws15rethrowConcreteyyAA7MyErrorOYKF", "rethrowConcrete()"},
    {"$s3red3use2fnySiyYAXE_tF", "use(fn:)"},
    {"$s4testAAyAA5KlassC_ACtACnYTF", "test(_:)"},
    {"$s5test24testyyAA5KlassCnYuF", "test(_:)"},
    {"$s7ElementSTQzqd__s5Error_pIgnrzo_ABqd__sAC_pIegnrzr_SlRzr__lTR", "reabstraction thunk"},
    {"$s4testA2A5KlassCyYTF", "test()"},
    {"$s4null19transferAsyncResultAA16NonSendableKlassCyYaYTF", "transferAsyncResult()"},
    {"$s4null16NonSendableKlassCIegHo_ACs5Error_pIegHTrzo_TR", "reabstraction thunk"},
    {"$s2hi1SV1iSivx", "S.i.modify2"},
    {"$s2hi1SV1iSivy", "S.i.read2"},
    {"$s3red7MyActorC3runyxxyYaKACYcYTXEYaKlFZ", "static MyActor.run(_:)"},
    {"$s3red7MyActorC3runyxxyYaKYAYTXEYaKlFZ", "static MyActor.run(_:)"},
    {"$s7ToolKit10TypedValueOACs5Error_pIgHTnTrzo_A2CsAD_pIegHiTrzr_TR", "reabstraction thunk"},
    {"$s16sending_mangling16NonSendableKlassCACIegTiTr_A2CIegTxTo_TR", "reabstraction thunk"},
    {"$s3red7MyActorC3runyxxyYaKYCXEYaKlFZ", "static MyActor.run(_:)"},
    {"$s5thing1PP1sAA1SVvxTwc", "coro function pointer to P.s.modify2"},
    {"$s1A1gyyxlFx_qd__t_Ti5", "specialized g(_:)"},
};

/* Names by the rules of docs/ABI/Mangling.rst, for what programs with a user interface have. */
static const char *const built[][2] = {
    {"$S3nix8MystructV1x1uACyxGx_qd__tclufc", "Mystruct.init(x:u:)"},
    {"$S3nix7MyclassCfd", "Myclass.deinit"},
    {"$S3nix7MyclassCfD", "Myclass.__deallocating_deinit"},
    {"$S3nix8MystructVyS2icig", "Mystruct.subscript.getter"},
    {"$S3nix8MystructV1xACyxGx_tcfc", "Mystruct.init(x:)"},
    {"$S3nix8MystructV6testit1xyx_tF", "Mystruct.testit(x:)"},
    {"$S3nix8MystructV6testit1x1u1vyx_qd__qd_0_tr0_lF", "Mystruct.testit(x:u:v:)"},
    {"$s4main7MyModelV5itemsSaySSGvg", "MyModel.items.getter"},
    {"$s4main5greet4nameS2S_tF", "greet(name:)"},
    {"$s4main3AppV5$mainyyFZ", "static App.$main()"},
    {"$s4main5ModelC4nameACSS_tcfC", "Model.__allocating_init(name:)"},
    {"$s4main5ModelC4nameACSS_tcfc", "Model.init(name:)"},
    {"$s7SwiftUI4ViewPAAE6layout2of2inyx_SitF", "View.layout(of:in:)"},
    {"$s4main11ContentViewV4bodyQrvgyycfU_", "closure #1 in ContentView.body.getter"},
    {"$s4main11ContentViewV4bodyQrvgyycfU_TA", "partial apply for closure #1 in ContentView.body.getter"},
    {"$s4main11ContentViewV4bodyQrvgyyYaYbcfU_TY0_",
     "(1) suspend resume partial function for closure #1 in ContentView.body.getter"},
    {"$s4main5ModelC4loadyyYaKFTQ0_", "(1) await resume partial function for Model.load()"},
    {"$s4main1CCAA1PA2aDP1fyySiFTW", "protocol witness for P.f(_:) in conformance C"},
    {"$s4main11AppDelegateC11application_29didFinishLaunchingWithOptionsSbSo13UIApplicationC_SDySo0j6LaunchI3KeyaypGSgtFTo",
     "@objc AppDelegate.application(_:didFinishLaunchingWithOptions:)"},
    {"$s4main6helper33_0123456789ABCDEF0123456789ABCDEFLLyySiF", "helper(_:)"},
    {"$s4main1fyyF5innerL_yySiF", "inner #1 (_:) in f()"},
    {"$s4main1f1i1sySi_SStFfA0_", "default argument 1 of f(i:s:)"},
    {"$sIeg_IyB_TR", "reabstraction thunk"},
    {"$s8mangling0022egbpdajGbuEbxfgehfvwxnyyF", "ليهمابتكلموشعربي؟()"},
    {"$s8mangling0024ihqwcrbEcvIaIdqgAFGpqjyeyyF", "他们为什么不说中文()"},
    {"$s8mangling007p_qcaDcoiyS2i_SitF", "«+»(_:_:)"},
    {"$sSa6appendyyxnF", "Array.append(_:)"},
    {"$sSa6appendyyxnFSi_Tg5", "specialized Array.append(_:)"},
    {"$sSaMa", "type metadata accessor for Array"},
    {"$s4main5ModelCMa", "type metadata accessor for Model"},
    {"$sSS_SStWOe", "outlined consume"},
    {"$s4main5ModelCSgWOe", "outlined consume of Model?"},
    {"$s4main3fooSivpfi", "variable initialization expression of foo"},
    {"$s4main3foo_WZ", "one-time initialization function for foo"},
    {"$s4main5ModelC1xSivM.resume.0", "Model.x.modify"},
};

/* Symbols of programs that Swift 5 compiled, such as the npm package get-windows, and of libraries of Apple.
 */
static const char *const shipped[][2] = {
    {"_$s10Foundation22_convertNSErrorToErrorys0E0_pSo0C0CSgF", "_convertNSErrorToError(_:)"},
    {"_$s10Foundation3URLV36_unconditionallyBridgeFromObjectiveCyACSo5NSURLCSgFZ",
     "static URL._unconditionallyBridgeFromObjectiveC(_:)"},
    {"_$s10Foundation4DataV15_RepresentationOWOe", "outlined consume of Data._Representation"},
    {"_$s13GetWindowsCLI14runAppleScript6sourceSSSgSS_tF", "runAppleScript(source:)"},
    {"_$s13GetWindowsCLI20getWindowInformation6window0G8OwnerPIDSDySSypGSgAE_s5Int32VtF",
     "getWindowInformation(window:windowOwnerPID:)"},
    {"_$s13GetWindowsCLI28hasScreenRecordingPermissionSbyFySo26CGDisplayStreamFrameStatusV_s6UInt64VSo12IOSurfaceRefaSgSo0hi6UpdateN0aSgtcfU_",
     "closure #1 in hasScreenRecordingPermission()"},
    {"_$s8Dispatch0A3QoSV0B6SClassOMa", "type metadata accessor for DispatchQoS.QoSClass"},
    {"_$sSD10FoundationE19_bridgeToObjectiveCSo12NSDictionaryCyF", "Dictionary._bridgeToObjectiveC()"},
    {"_$sSD17dictionaryLiteralSDyxq_Gx_q_td_tcfCSS_12CoreGraphics7CGFloatVTt0g5Tf4g_n",
     "specialized Dictionary.init(dictionaryLiteral:)"},
    {"_$sSQ2eeoiySbx_xtFZTq", "method descriptor for static Equatable.==(_:_:)"},
    {"_$sSS10FoundationE4data8encodingSSSgAA4DataVh_SSAAE8EncodingVtcfC", "String.init(data:encoding:)"},
    {"_$sSS10FoundationE8EncodingV4utf8ACvgZ", "static String.Encoding.utf8.getter"},
    {"_$sSTsE8contains5whereS2b7ElementQzKXE_tKFSaySSG_Tg5", "specialized Sequence.contains(where:)"},
    {"_$sSTsSQ7ElementRpzrlE8containsySbABFSbABXEfU_SaySSG_TG5TATm",
     "merged partial apply for specialized closure #1 in Sequence.contains(_:)"},
    {"_$sSTsSQ7ElementRpzrlE8containsySbABFSbABXEfU_SaySSG_TG5TA.1",
     "partial apply for specialized closure #1 in Sequence.contains(_:)"},
    {"_$sSY8rawValuexSg03RawB0Qz_tcfCTq", "method descriptor for RawRepresentable.init(rawValue:)"},
    {"_$sSa10FoundationE34_conditionallyBridgeFromObjectiveC_6resultSbSo7NSArrayC_SayxGSgztFZ",
     "static Array._conditionallyBridgeFromObjectiveC(_:result:)"},
    {"_$sSo17OS_dispatch_queueC8DispatchE6global3qosAbC0D3QoSV0G6SClassO_tFZ",
     "static OS_dispatch_queue.global(qos:)"},
    {"_$sSo18CGWindowListOptionVABSQSCWlTm",
     "merged lazy protocol witness table accessor for type CGWindowListOption"},
    {"_$sSo18CGWindowListOptionVSQSCSQ2eeoiySbx_xtFZTW",
     "protocol witness for static Equatable.==(_:_:) in conformance CGWindowListOption"},
    {"_$sSo18CGWindowListOptionVs10SetAlgebraSCsACPyxqd__ncSTRd__7ElementQyd__AERtzlufCTW",
     "protocol witness for SetAlgebra.init(_:) in conformance CGWindowListOption"},
    {"_$sSo26CGDisplayStreamFrameStatusVs6UInt64VSo12IOSurfaceRefaSgSo0ab6UpdateG0aSgIegyygg_AbdgJIeyByyyy_TR",
     "reabstraction thunk"},
    {"_$ss10SetAlgebraP6insertySb8inserted_7ElementQz17memberAfterInserttAFnFTq",
     "method descriptor for SetAlgebra.insert(_:)"},
    {"_$ss18_DictionaryStorageC6resize8original8capacity4moveAByxq_Gs05__RawaB0C_SiSbtFZ",
     "static _DictionaryStorage.resize(original:capacity:move:)"},
    {"_$s7SwiftUI9AsyncBodyV13_makeProperty2in9container11fieldOffset6inputsyAA08_DynamicF6BufferVz_AA11_GraphValueVyxGSiAA01_N6InputsVztlFZ",
     "static AsyncBody._makeProperty(in:container:fieldOffset:inputs:)"},
    {"_$s7SwiftUI38HostingViewTransparentBackgroundReasonVs10SetAlgebraAAsADP7isEmptySbvgTW",
     "protocol witness for SetAlgebra.isEmpty.getter in conformance HostingViewTransparentBackgroundReason"},
    {"_$s7SwiftUI19AnyStyleContextTypeV07acceptsC0ySbxmxQpRvzAA0dE0RzlF",
     "AnyStyleContextType.acceptsAny(_:)"},
    {"_$s8StoreKit11TransactionV5OfferV11paymentModeAE07PaymentF0VSgvg",
     "Transaction.Offer.paymentMode.getter"},
    {"_$s7SwiftUI11WindowGroupV2id5title11lazyContentACyxGSSSg_AA4TextVSgxyctcfC",
     "WindowGroup.init(id:title:lazyContent:)"},
    {"_$sScI4next7ElementQzSgyYaKFTjTu",
     "async function pointer to dispatch thunk of AsyncIteratorProtocol.next()"},
    {"_$sSo20NSNotificationCenterC10FoundationE13NotificationsC17makeAsyncIteratorAE0G0VyF",
     "NSNotificationCenter.Notifications.makeAsyncIterator()"},
    {"_$sSo20NSNotificationCenterC10FoundationE13notifications5named6objectAbCE13NotificationsCSo0A4Namea_yXlSgtF",
     "NSNotificationCenter.notifications(named:object:)"},
    {"_$s7SwiftUI5GlassV7regularACvgZ", "static Glass.regular.getter"},
    {"_$s7SwiftUI3AppPAAE4mainyyFZ", "static App.main()"},
    {"_$s7SwiftUI9CalistogaV9isEnabledSbvgZ", "static Calistoga.isEnabled.getter"},
    {"$s7SwiftUI4ViewPAAE05_makeC4List4view6inputsAA01_cE7OutputsVAA11_GraphValueVyxG_AA01_cE6InputsVtFZ",
     "static View._makeViewList(view:inputs:)"},
    {"$s7SwiftUI4ViewPAAE16_fullScreenSheet11isPresented9onDismiss7contentQrAA7BindingVySbG_yycSgqd__yctAaBRd__lF",
     "View._fullScreenSheet(isPresented:onDismiss:content:)"},
    {"$s7SwiftUI4ViewPAAE19onScrollPhaseChangeyQryAA0eF0O_AfA0efG7ContextVtcF",
     "View.onScrollPhaseChange(_:)"},
    {"$ss17_assertionFailure__4file4line5flagss5NeverOs12StaticStringV_SSAHSus6UInt32VtF",
     "_assertionFailure(_:_:file:line:flags:)"},
    {"$s11DemoMixers111ContentViewV4bodyQrvg7SwiftUI05TupleD0VyAE0D0PAEE7paddingyQrAE4EdgeO3SetV_12CoreGraphics7CGFloatVSgtFQOyAE4TextV_Qo__ATSgAiEE5frame8minWidth05idealR003maxR00Q6Height0sU00tU09alignmentQrAR_A5rE9AlignmentVtFQOyAiEE9listStyleyQrqd__AE04ListY0Rd__lFQOyAE0Z0Vys5NeverOAE012_ConditionalC0VyAE7ForEachVySayAA5TrackVGSSAA05TrackD0VGATGG_AE05PlainzY0VQo__Qo_AiEEAJyQrAN_ARtFQOyAE6HStackVyAGyAE6ButtonVyAiEE12cornerRadius_11antialiasedQrAQ_SbtFQOyAiEE15foregroundColoryQrAE5ColorVSgFQOyAiEE10background_20ignoresSafeAreaEdgesQrqd___ANtAE05ShapeY0Rd__lFQOyAiEEAW5width6heightA2_QrAR_ARA4_tFQOyAT_Qo__A35_Qo__Qo__Qo_G_A46_tGG_Qo_AE6SpacerVtGyXEfU_A47_yXEfU0_yyScMYccfU_yyYacfU_TQ1_",
     "(2) await resume partial function for closure #1 in closure #1 in closure #2 in closure #1 in ContentView.body.getter"},
};

/* Data, types, and what is not well-formed. */
static const char *const mangled[] = {
    "$sxq_Ifgnr_D",
    "$syQo",
    "$sSD5IndexVy__GD",
    "_$S3BBBBf0602365061_",
    "$s0059xxxxxxxxxxxxxxx_ttttttttBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBee",
    "$s",
    "_$s",
    "$s4main",
    "$s4mainyyF",
    "$s99999999999999999999main1fyyF",
    "$s4main1fyyFQQ",
    "$sSSN",
    "_$s10Foundation3URLVMn",
    "_$sSDySSypGMR",
    "_$s12CoreGraphicsMXM",
    "$s4main1fyyF\x01\x02\x03\x04",
    "$s4main5modelC4nameSSvg5extraV",
    "$s4main2f\xffyyF",
    "$s4main2f\x01yyF",
};

static void check(const char *const (*pairs)[2], size_t count) {
    for (size_t i = 0; i < count; i++) {
        char *name = symbolizer_demangle(pairs[i][0]);
        assert_non_null(name);
        assert_string_equal(name, pairs[i][1]);
        free(name);
    }
}

static void a_person_reads_the_names(void **state) {
    (void)state;
    check(documented, sizeof documented / sizeof documented[0]);
    check(built, sizeof built / sizeof built[0]);
    check(shipped, sizeof shipped / sizeof shipped[0]);
}

static void what_is_unknown_stays_mangled(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof mangled / sizeof mangled[0]; i++) {
        char *name = symbolizer_demangle(mangled[i]);
        assert_non_null(name);
        assert_string_equal(name, mangled[i]);
        free(name);
    }
}

static void a_text_has_its_room(void **state) {
    (void)state;
    const char *name = "$s4main5greet4nameS2S_tF", *text = "greet(name:)";
    char out[32];
    assert_int_equal(swift_name(name, out, strlen(text)), 0);
    assert_int_equal(swift_name(name, out, strlen(text) + 1), strlen(text));
    assert_string_equal(out, text);
}

static void punycode_is_decoded(void **state) {
    (void)state;
    char out[64] = "";
    size_t n = swift_punycode("vergenza_JFa", 12, out, sizeof out);
    assert_int_equal(n, strlen("verg\u00fcenza"));
    assert_memory_equal(out, "verg\u00fcenza", n);
    assert_int_equal(swift_punycode("vergenza_JFa", 12, out, n - 1), 0);
    assert_int_equal(swift_punycode("vergenza_J!a", 12, out, sizeof out), 0);
    assert_int_equal(swift_punycode("JJJJJJJJJJJJ", 12, out, sizeof out), 0);
}

static void blocks_lose_the_length(void **state) {
    (void)state;
    assert_string_equal(block_name("__11-[View hit]_block_invoke"), "-[View hit]_block_invoke");
    assert_string_equal(block_name("___11+[View hit]_block_invoke_2"), "+[View hit]_block_invoke_2");
    assert_string_equal(block_name("__12-[View hit]_block_invoke"), "__12-[View hit]_block_invoke");
    assert_string_equal(block_name("__99999999999999999999-[V h]"), "__99999999999999999999-[V h]");
    assert_string_equal(block_name("__run_block_invoke"), "__run_block_invoke");
    assert_string_equal(block_name("-[View hit]"), "-[View hit]");
    assert_string_equal(block_name(""), "");
}

static uint32_t dice = 31;

static uint32_t roll(size_t sides) {
    dice = dice * 1664525 + 1013904223;
    return (dice >> 8) % (uint32_t)sides;
}

/* Damages a name in one to four places. */
static void damage(char *name, size_t bytes) {
    static const char letters[] = "ABCDEFGHIKLMNOPQRSTUVWXYZabcdefghilmnopqrstuvwxyz0123456789_$";
    for (uint32_t i = roll(4) + 1; i > 0; i--) {
        name[2 + roll(bytes - 2)] = letters[roll(sizeof letters - 1)];
    }
}

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void damaged_names_end_soon(void **state) {
    (void)state;
    size_t count = sizeof shipped / sizeof shipped[0], read = 0;
    double start = seconds();
    for (int i = 0; i < MUTATIONS; i++) {
        char name[1024], out[512];
        const char *whole = shipped[(size_t)i % count][0];
        size_t bytes = (size_t)snprintf(name, sizeof name, "%s", whole);
        assert_true(bytes < sizeof name);
        damage(name, bytes);
        size_t n = swift_name(name, out, sizeof out);
        read += n != 0;
        assert_int_equal(n, n != 0 ? strlen(out) : 0);
    }
    assert_true(read > MUTATIONS / 100);
    assert_true(seconds() - start < 120);
}

/* A piece again and again, behind a beginning, up to the greatest length and beyond it. */
static void repeated_pieces_end_soon(void **state) {
    (void)state;
    static const char *const pieces[][2] = {
        {"$s4main1fyyF", "yycfU_"},
        {"$s", "y"},
        {"$s4main1fyyF", "1gL_yyF"},
        {"$s1aAA", "9a9Z"},
        {"$s4main", "1aV"},
        {"$sSi", "Sg"},
        {"$s1a", "A999a"},
        {"$sSiSi", "_t_t"},
        {"$s4main1fyyF", "TA"},
        {"$sx", "R"},
        {"$s0", "02ab"},
        {"$s00", "9JJJJJJJJJ"},
        {"$s1a", "01aA"},
        {"$s", "S999S"},
        {"$s4mainSi", "SgySiG"},
        {"$s4main1fyyF", "fA_"},
    };
    double start = seconds();
    for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
        for (size_t bytes = 100; bytes <= 6400; bytes *= 4) {
            char name[6500], out[8192];
            size_t used = (size_t)snprintf(name, sizeof name, "%s", pieces[i][0]);
            while (used + strlen(pieces[i][1]) < bytes) {
                used += (size_t)snprintf(name + used, sizeof name - used, "%s", pieces[i][1]);
            }
            size_t n = swift_name(name, out, sizeof out);
            assert_true(n < sizeof out);
        }
    }
    assert_true(seconds() - start < 60);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_person_reads_the_names), cmocka_unit_test(what_is_unknown_stays_mangled),
        cmocka_unit_test(a_text_has_its_room),      cmocka_unit_test(punycode_is_decoded),
        cmocka_unit_test(blocks_lose_the_length),   cmocka_unit_test(damaged_names_end_soon),
        cmocka_unit_test(repeated_pieces_end_soon),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
