# SPDX-License-Identifier: MIT
#
# Tests: one CTest test for each file of tests/unit, tests/scenario, tests/real and tests/cli, named for it.
# Exit status 77 is a test that could not run here; it says why.

enable_testing()
hd_package(cmocka test)
hd_package(libunwind test)
if(NOT CMAKE_CROSSCOMPILING)
  enable_language(CXX)
endif()

set(test_environment
  HANGDOG_BUILD=${CMAKE_BINARY_DIR}
  HANGDOG_SOURCE=${CMAKE_SOURCE_DIR}
  HANGDOG_SANITIZER=${HANGDOG_SANITIZER}
  HANGDOG_EMULATED=${CMAKE_CROSSCOMPILING_EMULATOR}
  PYTHONDONTWRITEBYTECODE=1
  PYTHONPATH=${CMAKE_SOURCE_DIR}/tests/real)
set(slower 1)
if(CMAKE_CROSSCOMPILING)
  set(slower 4)
endif()
if(HANGDOG_SANITIZER)
  set(slower 3)
  # A program that nobody rebuilt needs the sanitizer's runtime before the instrumented preload: the tests put this
  # file into LD_PRELOAD of what they start under `hangdog run`.
  set(runtime_name libasan.so)
  if(HANGDOG_SANITIZER STREQUAL thread)
    set(runtime_name libtsan.so)
  endif()
  execute_process(COMMAND ${CMAKE_C_COMPILER} -print-file-name=${runtime_name}
    OUTPUT_VARIABLE runtime OUTPUT_STRIP_TRAILING_WHITESPACE)
  file(REAL_PATH "${runtime}" runtime)
  list(APPEND test_environment HANGDOG_SANITIZER_RUNTIME=${runtime} UBSAN_OPTIONS=print_stacktrace=1)
  # Tests of our own code: everything is looked at.
  # At exit our threads are not joined (that frees memory, and exit may be called from a handler): no leak.
  set(strict_options ASAN_OPTIONS=detect_leaks=1:strict_string_checks=1 TSAN_OPTIONS=halt_on_error=1:report_thread_leaks=0)
  # Tests that start other people's programs: their leaks and races are their own.
  set(program_options
    ASAN_OPTIONS=detect_leaks=0 TSAN_OPTIONS=ignore_noninstrumented_modules=1:atexit_sleep_ms=0:report_thread_leaks=0:die_after_fork=0)
endif()

# hd_name(variable file): tests/unit/ring.c and tests/unit/test_ring.c are both `ring`.
macro(hd_name out file)
  cmake_path(GET ${file} STEM ${out})
  string(REGEX REPLACE "^test_" "" ${out} ${${out}})
endmacro()

# scripts/run-tests gives a test two of four slots, so two run beside each other. These take one: they sleep nearly all the
# time, below a fifth of a CPU each, and so disturb no other. Not where a sanitizer or an emulator makes them work.
set(light_tests
  cli-blame cli-crowded_exec cli-doctor cli-export_send cli-library cli-pid1 cli-without_paths real-own_threads
  scenario-cfrunloop_blocks scenario-cfrunloop_rest scenario-eintr_matrix scenario-library_events scenario-library_frames scenario-library_label scenario-library_limits scenario-library_live
  scenario-library_locks scenario-library_owners scenario-library_ping scenario-library_rest scenario-library_start
  scenario-library_stats scenario-library_suspended scenario-library_watch unit-deferred unit-main_thread unit-unwind_live)
if(HANGDOG_SANITIZER OR CMAKE_CROSSCOMPILING)
  set(light_tests "")
endif()

# These run alone: they assert times within milliseconds, or that a thread gets the
# processor at once, or they start many programs of their own. Each failed beside builds of this tree; the others passed.
set(alone
  cli-agent cli-agent_unit cli-attach cli-pool_stall
  cli-cpu cli-dropped_rights cli-dump cli-exec cli-export cli-rights cli-run_screens cli-starved cli-stock_kernel cli-systemd cli-thread
  real-asyncio real-attach_attacks real-attach_programs real-attach_states real-attach_unnoticed real-collector real-display real-first_tries real-freezes real-life real-loops real-loops_made real-mixes real-no_loop real-pipes
  real-programs real-python_versions real-silent real-toolkits
  scenario-eintr_alternating scenario-library_hangs scenario-library_kernel scenario-library_stacks scenario-loader_lock
  unit-bpf_hook unit-capture_mend unit-poll_hook)

# Left to `make test-all` and .ci/run: each takes 10 s or more, and another test covers the same code.
set(slow_tests
  cli-agent cli-agent_unit cli-attach cli-bad_states cli-builds cli-changed_file cli-children cli-container cli-crash cli-dashboard cli-dropped_rights cli-dump cli-exec cli-export cli-export_page cli-harmless cli-hostile_record cli-html
  cli-keep_names cli-kinds cli-list_screen cli-lock_graphs cli-locks cli-loop cli-many_execs cli-on_hang cli-own_frame cli-pages cli-pool_stall cli-previous cli-printed_report
  cli-packages cli-readme cli-rights cli-run_odd cli-show_screen cli-slow_look_up cli-spool_folder cli-starved cli-stock_kernel cli-symbols cli-systemd cli-terminal cli-thread cli-unwatched
  real-adapters real-asyncio real-attach_attacks real-attach_programs real-attach_states real-attach_unnoticed real-chromium_stacks real-clickhouse real-clickhouse_answers real-collector real-desktop real-dump_compared real-dump_peers real-first_tries real-freezes real-grouping real-identity real-javascript real-libc
  real-life real-lookup real-loops real-loops_made real-macho_files real-mixes real-modules real-no_loop real-node real-postgres real-python_versions real-redis
  real-script_frames real-servers real-sick real-silent real-toolkits real-unwind_steps real-unwind_truth real-waits_by
  scenario-eintr_alternating scenario-library_disk scenario-library_excluded scenario-library_loops
  scenario-library_meant scenario-library_states scenario-library_write)

# Under a sanitizer all unit tests and scenarios run, for they are instrumented. So do tests of the command whose programs are
# servers, read hostile input, or die in odd places. The others look at texts and times: a sanitizer and a busy machine
# change times, and the release judges them. A watched program is not instrumented, and the release runs it: two of these show that
# the preload works beside a sanitizer. The fake of unit-darwin_suspended_live stops threads by a signal, which a sanitizer delays.
set(sanitized_tests
  cli-bad_states cli-cli cli-collector_api cli-crash cli-dump cli-exec cli-full_disk cli-hostile_record cli-keep_alive cli-others_files
  cli-python_tasks cli-regroup cli-retention cli-schema cli-sentry cli-serve cli-serve_attacks cli-serve_keys cli-spools cli-symbols
  cli-top cli-upload cli-upload_network real-own_threads real-redis)
set(no_sanitizer_tests unit-darwin_suspended_live)
# Left out under the thread sanitizer: one thread does the work here, and nothing can race.
if(HANGDOG_SANITIZER STREQUAL thread)
  list(REMOVE_ITEM sanitized_tests cli-bad_states cli-cli cli-collector_api cli-crash cli-dump cli-exec cli-hostile_record cli-others_files
    cli-schema cli-symbols cli-top)
  list(APPEND no_sanitizer_tests unit-bpf_hook unit-poll_hook unit-sampled)
  foreach(test ${slow_tests})
    if(test MATCHES "^scenario-")
      list(APPEND no_sanitizer_tests ${test})
    endif()
  endforeach()
endif()

# hd_sanitized(variable test kind): whether a sanitizer's run has it.
function(hd_sanitized out test kind)
  set(runs FALSE)
  if(test IN_LIST sanitized_tests OR (kind MATCHES "^(unit|scenario)$" AND NOT test IN_LIST no_sanitizer_tests))
    set(runs TRUE)
  endif()
  set(${out} ${runs} PARENT_SCOPE)
endfunction()

# hd_test(kind name timeout command...)
function(hd_test kind name timeout)
  math(EXPR timeout "${timeout} * ${slower}")
  set(options ${strict_options})
  if(kind MATCHES "cli|real")
    set(options ${program_options})
  endif()
  add_test(NAME ${kind}-${name} COMMAND ${ARGN} WORKING_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  set_tests_properties(${kind}-${name} PROPERTIES
    LABELS ${kind} TIMEOUT ${timeout} SKIP_RETURN_CODE 77 ENVIRONMENT "${test_environment};${options}")
  if(NOT ${kind}-${name} IN_LIST light_tests)
    set_tests_properties(${kind}-${name} PROPERTIES PROCESSORS 2)
  endif()
  if(${kind}-${name} IN_LIST slow_tests)
    set_property(TEST ${kind}-${name} APPEND PROPERTY LABELS slow)
  endif()
  hd_sanitized(sanitized ${kind}-${name} ${kind})
  if(HANGDOG_SANITIZER AND NOT sanitized)
    set_property(TEST ${kind}-${name} APPEND PROPERTY LABELS no-sanitizer)
  endif()
  if(${kind}-${name} IN_LIST alone)
    set_tests_properties(${kind}-${name} PROPERTIES RUN_SERIAL ON)
  endif()
endfunction()

# Headers of Apple's frameworks, for the stand-ins of tests/support.
set(apple_stand_ins tests/support/corefoundation tests/support/libdispatch)

# hd_test_program(target file...): a program of the tests. It may use anything of the tree; what it does not use is
# not linked.
function(hd_test_program target)
  add_executable(${target} ${ARGN})
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR} tests/support tests include src ${apple_stand_ins})
  target_link_libraries(${target} PRIVATE
    hd_test_support $<TARGET_NAME_IF_EXISTS:hd_collector> $<TARGET_NAME_IF_EXISTS:hd_uploader> $<TARGET_NAME_IF_EXISTS:hd_agent>
    $<TARGET_NAME_IF_EXISTS:hd_cli> hd_outside hd_recognise_static hd_macho hangdog-static PkgConfig::cmocka PkgConfig::libunwind m dl)
endfunction()

# hd_room(variable source name): the room of a unit test: the one that its name begins with, or that has the header of its
# name, or the first header of ours. One that knows only helpers is of src/recognise.
function(hd_room out source name)
  string(REGEX REPLACE "^preload_" "" name ${name})
  string(REGEX REPLACE "_.*" "" word ${name})
  file(STRINGS ${source} headers REGEX "^#include \"[a-z_/]+/[a-z_0-9]+[.]h\"")
  set(room "")
  foreach(pattern "/${name}[.]h" "/${word}[.]h" "/${word}_" ".")
    set(found ${headers})
    list(FILTER found INCLUDE REGEX "${pattern}")
    if(found AND NOT room)
      list(GET found 0 header)
      string(REGEX REPLACE "/(arch|linux|darwin|elf|macho)/" "/" header "${header}")
      string(REGEX REPLACE ".*[\"/]([a-z_]+)/[^/]*$" "\\1" room "${header}")
    endif()
  endforeach()
  if(EXISTS ${CMAKE_SOURCE_DIR}/src/${word})
    set(room ${word})
  elseif(NOT room)
    set(room recognise)
  endif()
  set(${out} ${room} PARENT_SCOPE)
endfunction()

# hd_scripts(kind timeout): the Python tests of one room; a file that is not run itself is a helper of the others.
function(hd_scripts kind timeout)
  file(GLOB scripts CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/${kind}/*.py)
  foreach(script ${scripts})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${script})
    file(STRINGS ${script} main REGEX "__main__")
    if(main AND NOT script MATCHES "/support_") # a program that a test starts
      hd_name(name script)
      hd_test(${kind} ${name} ${timeout} /usr/bin/python3 ${script})
    elseif(script MATCHES "/test_")
      message(FATAL_ERROR "${script} would not be run: it does not end with a call of main() where it is __main__")
    endif()
  endforeach()
endfunction()

file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
if(CMAKE_SYSTEM_PROCESSOR STREQUAL aarch64)
  # Debian 12's libunwind, the peer of our walks, does not know the rows of signed return addresses. Ours does: the library has them.
  add_compile_options(-mbranch-protection=none)
endif()
add_link_options(${HANGDOG_EMULATED_LINK})
hd_sources(support_sources tests/support/*.c)
add_library(hd_test_support STATIC ${support_sources})
target_include_directories(hd_test_support PRIVATE ${CMAKE_SOURCE_DIR} tests/support tests include src ${apple_stand_ins})
target_link_libraries(hd_test_support PRIVATE hangdog-static PkgConfig::cmocka PkgConfig::libunwind)
if(CMAKE_CROSSCOMPILING)
  target_compile_definitions(hd_test_support PUBLIC HANGDOG_EMULATED)
endif()

# Their code or registers are those of x86-64.
set(of_x86_64 capture_mend capture_short unwind_expression)

# Not under an emulator. To the kernel each thread there is the emulator: its calls, its registers, its memory.
set(not_emulated capture_alt_stack capture_frozen capture_method capture_refused capture_signalled capture_unanswered
  main_thread os_linux outside_followed poll_hook probe probe_children recognise_outside sampled)
list(APPEND not_emulated record_copy short_name turn_capacity unwind_hostile) # assert times, or take minutes there
list(APPEND not_emulated crash suspended) # of tests/darwin: process_vm_readv is missing there; tests/apple runs that code on arm64

# Files of darwin/ without headers of Apple. Unit tests named darwin_X have them in place of those of linux/, and give
# the kernel's side themselves.
hd_sources(darwin_sources src/cause/darwin/*.c src/image/darwin/modules_symbols.c src/image/darwin/modules_system.c src/os/darwin/syscall_table.c)
add_library(hd_darwin OBJECT EXCLUDE_FROM_ALL ${darwin_sources})
target_include_directories(hd_darwin PRIVATE include src)

hd_sources(unit_sources tests/unit/*.c)
foreach(source ${unit_sources})
  hd_name(name source)
  file(STRINGS ${source} of_fleet REGEX "^#include \"((collector|uploader|namer)/|store_in_folder)")
  if((of_fleet AND NOT TARGET hd_collector) OR (CMAKE_CROSSCOMPILING AND name IN_LIST of_x86_64))
    continue()
  endif()
  # A line " * sources: src/..." names files of other systems: the test compiles them, with fakes in the system's place.
  file(STRINGS ${source} others REGEX "^ \\* sources: ")
  list(TRANSFORM others REPLACE " [*] sources: " "")
  hd_test_program(unit-${name} ${source} ${others})
  if(name MATCHES "^preload_" AND TARGET hd_preload)
    target_sources(unit-${name} PRIVATE $<TARGET_OBJECTS:hd_preload>)
  endif()
  if(of_fleet MATCHES "namer/")
    target_sources(unit-${name} PRIVATE namer/jail.c)
  endif()
  if(name MATCHES "^darwin_" AND NOT others)
    target_sources(unit-${name} PRIVATE $<TARGET_OBJECTS:hd_darwin>)
  endif()
  if(CMAKE_CROSSCOMPILING AND name IN_LIST not_emulated)
    list(APPEND machine_tests unit-${name})
    continue()
  endif()
  hd_test(unit ${name} 60 unit-${name})
  hd_room(room ${source} ${name})
  set_property(TEST unit-${name} APPEND PROPERTY LABELS ${room})
endforeach()

# Code for Darwin that runs here: it is compiled over fakes of the system's calls (tests/darwin).
hd_sources(fake_darwin_sources src/capture/*.c src/capture/darwin/*.c src/crash/*.c src/crash/darwin/*.c
  src/os/darwin/thread_ports.c tests/darwin/fake_*.c)
list(FILTER fake_darwin_sources EXCLUDE REGEX "/(crash_handler_context|mach_exceptions_port)[.]c$") # of Apple's headers
add_library(hd_fake_darwin STATIC ${fake_darwin_sources})
target_compile_definitions(hd_fake_darwin PUBLIC HD_FAKE_DARWIN)
target_include_directories(hd_fake_darwin PUBLIC tests/darwin include src)
hd_sources(darwin_sources tests/darwin/test_*.c)
foreach(source ${darwin_sources})
  hd_name(name source)
  if(CMAKE_CROSSCOMPILING AND name IN_LIST not_emulated)
    continue()
  endif()
  add_executable(darwin-${name} ${source})
  set_target_properties(darwin-${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests ENABLE_EXPORTS ON)
  target_link_libraries(darwin-${name} PRIVATE hd_fake_darwin hangdog-static PkgConfig::cmocka)
  hd_test(unit darwin_${name} 60 darwin-${name})
  hd_room(room ${source} ${name})
  set_property(TEST unit-darwin_${name} APPEND PROPERTY LABELS ${room})
endforeach()

hd_sources(scenario_sources tests/scenario/*.c)
foreach(source ${scenario_sources})
  hd_name(name source)
  hd_test_program(scenario-${name} ${source})
  if(CMAKE_CROSSCOMPILING)
    list(APPEND machine_tests scenario-${name})
    continue()
  endif()
  hd_test(scenario ${name} 300 scenario-${name})
endforeach()

# Programs with a known hang, which scenarios and scripts start.
hd_sources(program_sources tests/scenario/programs/*.c tests/scenario/programs/*.cc)
if(CMAKE_CROSSCOMPILING)
  list(FILTER program_sources EXCLUDE REGEX "/(throws|unwind-steps)[.]")
endif()
pkg_check_modules(fuse3 QUIET IMPORTED_TARGET fuse3)
foreach(source ${program_sources})
  hd_name(name source)
  add_executable(program-${name} ${source})
  set_target_properties(program-${name} PROPERTIES
    OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/programs)
  target_link_libraries(program-${name} PRIVATE
    $<TARGET_NAME_IF_EXISTS:PkgConfig::fuse3> hd_macho hangdog-static m dl)
endforeach()

# For another CPU a virtual machine runs what the emulator of one program cannot: these, and by hand all.
set(quick_in_machine capture_alt_stack capture_frozen capture_method capture_refused capture_signalled main_thread os_linux probe_children
  recognise_outside eintr_matrix library_fibers library_label library_leave library_stacks library_tables)
if(CMAKE_CROSSCOMPILING)
  set(quick_tests ${machine_tests})
  list(JOIN quick_in_machine | quick_in_machine)
  list(FILTER quick_tests INCLUDE REGEX "^[a-z]+-(${quick_in_machine})$")
  list(JOIN quick_tests : quick_tests)
  list(JOIN machine_tests : machine_tests)
  list(APPEND test_environment HANGDOG_MACHINE_TESTS=${quick_tests} HANGDOG_MACHINE_ALL=${machine_tests})
  hd_scripts(machine 900)
  return()
endif()

include(cmake/Loops.cmake)

# What tests/recognition/record.py preloads into the programs that it records.
if(TARGET hd_preload AND NOT HANGDOG_SANITIZER)
  hd_sources(recorder_sources tests/recognition/recorder/*.c)
  add_library(hangdog-recorder MODULE ${recorder_sources})
  set_target_properties(hangdog-recorder PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_include_directories(hangdog-recorder PRIVATE tests/recognition src)
  target_compile_options(hangdog-recorder PRIVATE -fexceptions "SHELL:-U _FORTIFY_SOURCE")
  target_link_options(hangdog-recorder PRIVATE -Wl,-z,nodelete -Wl,-z,defs)
  target_link_libraries(hangdog-recorder PRIVATE hd_recognise_static hangdog-static)
endif()

# The scenarios of scripts/apple-check know no system.
hd_sources(apple_check_sources tests/apple/check/*.c)
hd_test_program(apple-check ${apple_check_sources})

hd_scripts(apple 600)
# Programs of tests/real/test_compact_tables.py and test_unwind_truth.py. The judge unwinds frames that Swift has marked.
hd_sources(judge_sources src/unwind/*.c src/unwind/arch/*.c src/unwind/macho/*.c)
hd_test_program(judge tests/emulation/judge.c ${judge_sources})
target_compile_definitions(judge PRIVATE HD_UNWIND_SWIFT)
hd_test_program(tables tests/emulation/tables.c)
pkg_check_modules(unicorn QUIET IMPORTED_TARGET unicorn)
if(TARGET PkgConfig::unicorn)
  hd_test_program(emulate tests/emulation/emulate.c tests/emulation/machine.c)
  target_link_libraries(emulate PRIVATE PkgConfig::unicorn)
endif()

hd_scripts(cli 600)
hd_scripts(real 600)
