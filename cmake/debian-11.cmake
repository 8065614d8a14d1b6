# SPDX-License-Identifier: MIT
#
# The headers and libraries of Debian 11, where scripts/build-archive put them: what is linked with them runs with glibc 2.31.
set(CMAKE_SYSROOT ${CMAKE_CURRENT_LIST_DIR}/../build/archive/sysroot)
cmake_path(NORMAL_PATH CMAKE_SYSROOT)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
cmake_host_system_information(RESULT cpu QUERY OS_PLATFORM)
set(libraries ${CMAKE_SYSROOT}/usr/lib/${cpu}-linux-gnu)
set(ENV{PKG_CONFIG_LIBDIR} ${libraries}/pkgconfig:${CMAKE_SYSROOT}/usr/share/pkgconfig)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${CMAKE_SYSROOT})
# gcc looks into the system's own folders first, also for the start files. What these libraries need is the target's matter.
add_link_options(-B${libraries} -L${libraries} -L${CMAKE_SYSROOT}/lib/${cpu}-linux-gnu -Wl,--allow-shlib-undefined)
# Parts of the C library before glibc 2.34.
set(CMAKE_C_STANDARD_LIBRARIES_INIT "-lpthread -ldl -lrt")
