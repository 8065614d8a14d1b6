/* SPDX-License-Identifier: MIT
 *
 * A stand-in for CoreFoundation's header of the same name: the few declarations that Hangdog's headers and
 * tests need.
 */
#ifndef TEST_CF_STRING_H
#define TEST_CF_STRING_H

#ifdef __cplusplus
extern "C" {
#endif

typedef const void *CFTypeRef;
typedef const struct __CFAllocator *CFAllocatorRef;
typedef const struct __CFString *CFStringRef;
typedef unsigned char Boolean;
typedef signed long CFIndex;
typedef unsigned long CFOptionFlags;
typedef double CFTimeInterval;
typedef double CFAbsoluteTime;

#ifdef __APPLE__
#define CFSTR(text) ((CFStringRef)__builtin___CFStringMakeConstantString("" text ""))
#else
CFStringRef cf_string(const char *text);
#define CFSTR(text) cf_string("" text "")
#endif

CFTypeRef CFRetain(CFTypeRef object);
void CFRelease(CFTypeRef object);

#ifdef __cplusplus
}
#endif
#endif
