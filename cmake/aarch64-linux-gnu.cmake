# SPDX-License-Identifier: MIT
#
# The compiler for arm64, and its libraries where scripts/install-sysroot put them. qemu runs what was built.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)

set(sysroot ${CMAKE_CURRENT_LIST_DIR}/../build/aarch64/sysroot)
cmake_path(NORMAL_PATH sysroot)
set(libraries ${sysroot}/usr/lib/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH ${sysroot})
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(ENV{PKG_CONFIG_LIBDIR} ${libraries}/pkgconfig)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${sysroot})
# pkg-config names no folder that is the system's own, there.
set(CMAKE_C_FLAGS_INIT "-isystem ${sysroot}/usr/include -isystem ${sysroot}/usr/include/aarch64-linux-gnu")
foreach(kind EXE SHARED MODULE)
  set(CMAKE_${kind}_LINKER_FLAGS_INIT
    "-L${libraries} -L${sysroot}/lib/aarch64-linux-gnu -Wl,-rpath-link,${libraries}:${sysroot}/lib/aarch64-linux-gnu")
endforeach()
# Without qemu's own -L, which would lead absolute paths of a test to below the C library's folder: what runs in the build is
# linked with the loader and the folders of libraries that are its own here.
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64)
set(HANGDOG_EMULATED_LINK -Wl,--dynamic-linker=/usr/aarch64-linux-gnu/lib/ld-linux-aarch64.so.1
  -Wl,--disable-new-dtags -Wl,-rpath,/usr/aarch64-linux-gnu/lib:${libraries}:${sysroot}/lib/aarch64-linux-gnu)
