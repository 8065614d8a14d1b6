# SPDX-License-Identifier: MIT
#
# The library on macOS and iOS, on a Mac or by the toolchain file apple.cmake. One CPU a build folder: the unwinder has
# files for one CPU only. scripts/xcframework joins the libraries of several.

list(LENGTH CMAKE_OSX_ARCHITECTURES cpus)
if(cpus GREATER 1)
  message(FATAL_ERROR "CMAKE_OSX_ARCHITECTURES is '${CMAKE_OSX_ARCHITECTURES}': name one CPU for each build folder")
elseif(cpus EQUAL 1)
  set(CMAKE_SYSTEM_PROCESSOR ${CMAKE_OSX_ARCHITECTURES})
endif()
foreach(kind RUNTIME LIBRARY ARCHIVE)
  set(CMAKE_${kind}_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
endforeach()

hd_sources(core_sources src/*/*.c src/*/darwin/*.c src/*/arch/*.c src/*/macho/*.c)
list(FILTER core_sources EXCLUDE REGEX "src/(recognise|trace|outside)/")
add_library(hd_core OBJECT ${core_sources})
target_include_directories(hd_core PUBLIC include src)
# The marks: a frame pointer would be a fifth of their instructions, and nothing is called below them.
set_source_files_properties(src/loop/marks.c PROPERTIES COMPILE_OPTIONS -fomit-frame-pointer)
file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/hd_core.objects CONTENT "$<JOIN:$<TARGET_OBJECTS:hd_core>,\n>\n")

add_library(hangdog-static STATIC $<TARGET_OBJECTS:hd_core>)
set_target_properties(hangdog-static PROPERTIES OUTPUT_NAME hangdog EXPORT_NAME static)
target_include_directories(hangdog-static PUBLIC
  $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include> $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/src>
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)

# -application_extension: an app's extension may link the library.
add_library(hangdog-shared SHARED $<TARGET_OBJECTS:hd_core>)
set_target_properties(hangdog-shared PROPERTIES
  OUTPUT_NAME hangdog EXPORT_NAME hangdog SOVERSION 1 LINKER_LANGUAGE C
  INSTALL_NAME_DIR @rpath BUILD_WITH_INSTALL_NAME_DIR ON
  MACHO_CURRENT_VERSION ${PROJECT_VERSION} MACHO_COMPATIBILITY_VERSION ${PROJECT_VERSION})
target_link_options(hangdog-shared PRIVATE
  -Wl,-application_extension -Wl,-dead_strip "-Wl,-exported_symbol,_hangdog_*")
target_include_directories(hangdog-shared INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)

# What `hangdog run` inserts into a program of macOS. It has the library's objects, so that the program needs no other file.
if(NOT HANGDOG_APPLE_TARGET MATCHES ios)
  hd_sources(insert_sources preload/darwin/*.c)
  foreach(name kinds rule set wait_seen)
    list(APPEND insert_sources src/recognise/${name}.c)
  endforeach()
  add_library(hangdog-insert SHARED ${insert_sources} $<TARGET_OBJECTS:hd_core>)
  set_target_properties(hangdog-insert PROPERTIES LINKER_LANGUAGE C INSTALL_NAME_DIR @rpath BUILD_WITH_INSTALL_NAME_DIR ON)
  target_include_directories(hangdog-insert PRIVATE ${CMAKE_SOURCE_DIR} include src)
  if(HANGDOG_APPLE_TARGET)
    target_include_directories(hangdog-insert PRIVATE tests/support/corefoundation)
  endif()
  target_link_options(hangdog-insert PRIVATE -Wl,-dead_strip -Wl,-exported_symbol,_hangdog_version)
  install(TARGETS hangdog-insert DESTINATION ${CMAKE_INSTALL_LIBDIR})

  # Of the command: whether a program takes the library, and its environment. The rest of cli/run needs Linux.
  add_library(hd_run_insert OBJECT cli/run/insert_check.c cli/run/insert_environment.c)
  target_include_directories(hd_run_insert PRIVATE ${CMAKE_SOURCE_DIR} include src)
endif()

# scripts/apple-check runs it. A program of the command line, so not for iOS. Without CoreFoundation's headers and stub the
# tests' and a list stand in: it is linked here, and runs on a Mac.
if(NOT HANGDOG_APPLE_TARGET MATCHES ios)
  hd_sources(check_sources tests/apple/check/*.c)
  add_executable(apple-check ${check_sources})
  if(HANGDOG_APPLE_TARGET)
    target_include_directories(apple-check PRIVATE tests/support/corefoundation)
    target_link_options(apple-check PRIVATE -F${CMAKE_SOURCE_DIR}/build/apple/stubs/${HANGDOG_APPLE_TARGET})
  endif()
  target_link_options(apple-check PRIVATE -Wl,-dead_strip)
  target_link_libraries(apple-check PRIVATE hangdog-static "-framework CoreFoundation")

  # The loader has no CFRunLoop.
  add_executable(apple-check-threads ${check_sources})
  target_compile_definitions(apple-check-threads PRIVATE CHECK_WITHOUT_LOOPS)
  target_link_libraries(apple-check-threads PRIVATE hangdog-static)

  # The programs that the loader runs on Linux: a Mac runs them too. Those left out need fakes of frameworks or of the loader.
  hd_sources(subjects tests/apple/subjects/*.c)
  list(FILTER subjects EXCLUDE REGEX "/(plugin|cfrunloop|faults|adapter|frameworks|inserted(_loop)?)\\.c$")
  foreach(source ${subjects})
    cmake_path(GET source STEM name)
    add_executable(subject-${name} ${source})
    set_target_properties(subject-${name} PROPERTIES OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/subjects)
    target_include_directories(subject-${name} PRIVATE src)
    target_link_libraries(subject-${name} PRIVATE hangdog-static)
    add_dependencies(apple-check subject-${name})
  endforeach()
  if(EXISTS ${CMAKE_SOURCE_DIR}/tests/apple/subjects/plugin.c)
    add_library(plugin MODULE tests/apple/subjects/plugin.c)
    set_target_properties(plugin PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/subjects C_VISIBILITY_PRESET default)
    add_dependencies(apple-check plugin)
  endif()
endif()

install(TARGETS hangdog-static hangdog-shared EXPORT hangdog DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/hangdog DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
