# SPDX-License-Identifier: MIT
#
# One place for the compiler's and the linker's options. They hold for every target.

set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_CXX_STANDARD 17)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
include(CheckPIESupported)
check_pie_supported(LANGUAGES C)

if(NOT CMAKE_BUILD_TYPE AND PROJECT_IS_TOP_LEVEL)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Release, Debug or Sanitize" FORCE)
endif()
# No NDEBUG: a stray assert in the library then shows in the link check.
set(CMAKE_C_FLAGS_RELEASE "-O2 -g")
set(CMAKE_C_FLAGS_DEBUG "-O0 -g")
set(CMAKE_C_FLAGS_SANITIZE "-O1 -g")
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -g")
set(CMAKE_CXX_FLAGS_DEBUG "-O0 -g")
set(CMAKE_CXX_FLAGS_SANITIZE "-O1 -g")

# As `#define _GNU_SOURCE` in a file would have it, so that both may be there.
add_compile_definitions($<$<COMPILE_LANGUAGE:C>:_GNU_SOURCE=>)
add_compile_options(
  -Wall -Wextra -Wshadow -Werror
  "$<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes;-Wmissing-prototypes>"
  -fstack-protector-strong
  -fno-omit-frame-pointer -ffunction-sections -fdata-sections
  # The build's own paths are in no result; the later map is tried first by gcc.
  -ffile-prefix-map=${PROJECT_SOURCE_DIR}/=
  -ffile-prefix-map=${PROJECT_BINARY_DIR}=.)
if((APPLE AND NOT HANGDOG_APPLE_TARGET) OR NOT PROJECT_IS_TOP_LEVEL)
  # On a Mac, or in a user's project: the compiler may be newer than the one that checks this tree, and knows more warnings.
  add_compile_options(-Wno-error)
endif()
if(NOT APPLE)
  add_link_options(-Wl,-z,relro,-z,now -Wl,-z,noexecstack -Wl,--build-id=sha1 -Wl,--as-needed)
endif()

if(CMAKE_BUILD_TYPE STREQUAL Release)
  add_compile_options(-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
endif()
if(CMAKE_SYSTEM_PROCESSOR STREQUAL x86_64 AND NOT APPLE)
  add_compile_options(-fcf-protection)
elseif(CMAKE_SYSTEM_PROCESSOR STREQUAL aarch64)
  # Atomics in line: the out-of-line helpers would be one more thing that the library leaves undefined.
  add_compile_options(-mbranch-protection=standard -mno-outline-atomics)
endif()

if(HANGDOG_SANITIZER STREQUAL address)
  set(sanitize -fsanitize=address,undefined -fno-sanitize-recover=all)
elseif(HANGDOG_SANITIZER STREQUAL thread)
  set(sanitize -fsanitize=thread)
elseif(NOT HANGDOG_SANITIZER STREQUAL "")
  message(FATAL_ERROR "HANGDOG_SANITIZER is '${HANGDOG_SANITIZER}'; it must be empty, address or thread")
endif()
if(HANGDOG_FUZZ)
  list(APPEND sanitize -fsanitize=fuzzer-no-link)
  add_compile_options(-Wno-error) # the release has the warnings
endif()
if(sanitize)
  add_compile_options(${sanitize})
  if(CMAKE_C_COMPILER_ID STREQUAL GNU)
    # gcc says itself that its guess goes wrong over instrumented code; the release build has the warning.
    add_compile_options(-Wno-maybe-uninitialized)
  endif()
  add_link_options(${sanitize})
  set(no_undefined "")
elseif(NOT APPLE)
  set(no_undefined -Wl,-z,defs)
endif()
