/* SPDX-License-Identifier: MIT
 *
 * Types of the standard library and modules that have letters. Ordinary code.
 */
#include "symbolizer/swift_standard.h"

/* Letter, form, name. */
static const char *const standard[] = {
    "AVAutoreleasingUnsafeMutablePointer",
    "aVArray",
    "BPBinaryFloatingPoint",
    "bVBool",
    "DVDictionary",
    "dVDouble",
    "EPEncodable",
    "ePDecodable",
    "FPFloatingPoint",
    "fVFloat",
    "GPRandomNumberGenerator",
    "HPHashable",
    "hVSet",
    "IVDefaultIndices",
    "iVInt",
    "JVCharacter",
    "jPNumeric",
    "KPBidirectionalCollection",
    "kPRandomAccessCollection",
    "LPComparable",
    "lPCollection",
    "MPMutableCollection",
    "mPRangeReplaceableCollection",
    "NVClosedRange",
    "nVRange",
    "OVObjectIdentifier",
    "PVUnsafePointer",
    "pVUnsafeMutablePointer",
    "QPEquatable",
    "qOOptional",
    "RVUnsafeBufferPointer",
    "rVUnsafeMutableBufferPointer",
    "SVString",
    "sVSubstring",
    "TPSequence",
    "tPIteratorProtocol",
    "UPUnsignedInteger",
    "uVUInt",
    "VVUnsafeRawPointer",
    "vVUnsafeMutableRawPointer",
    "WVUnsafeRawBufferPointer",
    "wVUnsafeMutableRawBufferPointer",
    "XPRangeExpression",
    "xPStrideable",
    "YPRawRepresentable",
    "yPStringProtocol",
    "ZPSignedInteger",
    "zPBinaryInteger",
    NULL,
};

/* Behind Sc. */
static const char *const concurrent[] = {
    "APActor",
    "CVCheckedContinuation",
    "cVUnsafeContinuation",
    "EVCancellationError",
    "eVUnownedSerialExecutor",
    "FPExecutor",
    "fPSerialExecutor",
    "GVTaskGroup",
    "gVThrowingTaskGroup",
    "hPTaskExecutor",
    "IPAsyncIteratorProtocol",
    "iPAsyncSequence",
    "JVUnownedJob",
    "MCMainActor",
    "PVTaskPriority",
    "SVAsyncStream",
    "sVAsyncThrowingStream",
    "TVTask",
    "tVUnsafeCurrentTask",
    NULL,
};

static void push_module(struct swift *s, const char *name) {
    swift_push(s, swift_make_word(s, SWIFT_MODULE, 0, name));
}

static uint16_t standard_type(struct swift *s, const char *const *types, char letter) {
    while (*types != NULL && **types != letter) {
        types++;
    }
    if (*types == NULL) {
        return swift_fail(s);
    }
    uint16_t type = swift_make_word(s, SWIFT_NOMINAL, 0, *types + 2);
    if (type != 0) {
        s->nodes[type].form = (uint8_t)(*types)[1];
    }
    return type;
}

void swift_read_standard(struct swift *s) {
    if (swift_next_if(s, 'o')) {
        push_module(s, "__C");
        return;
    }
    if (swift_next_if(s, 'C')) {
        push_module(s, "__C_Synthesized");
        return;
    }
    if (swift_next_if(s, 'g')) {
        uint16_t inner = swift_need_type(s);
        uint16_t type = swift_make_type(s, SWIFT_OPTIONAL, inner, 0);
        swift_push(s, type);
        swift_remember(s, type);
        return;
    }
    uint32_t times = swift_is_digit(swift_peek(s)) ? swift_natural(s) : 1;
    const char *const *types = swift_next_if(s, 'c') ? concurrent : standard;
    uint16_t type = standard_type(s, types, swift_next(s));
    if (times == 0 || times > SWIFT_STACK_MAX) {
        swift_fail(s);
    }
    for (uint32_t i = 0; i < times && !s->bad; i++) {
        swift_push(s, type);
    }
}
