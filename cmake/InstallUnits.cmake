# SPDX-License-Identifier: MIT
#
# Runs at installation: `cmake --install --prefix` and DESTDIR are known only then. A unit names the command below that prefix, and
# lies where systemd looks: those of users below the folder of data, as of any other.
#
# CMAKE_INSTALL_PREFIX, and of the build: UNITS (folder of the templates), BINDIR, DATADIR, SCRATCH.

get_filename_component(prefix "${CMAKE_INSTALL_PREFIX}" ABSOLUTE) # one that is relative, too
foreach(folder BINDIR DATADIR)
  if(NOT IS_ABSOLUTE "${${folder}}")
    set(${folder} "${prefix}/${${folder}}")
  endif()
endforeach()

# install_unit(folder name template): systemd would read a space as the end of a word, and % as a specifier.
function(install_unit folder name template)
  file(READ ${template} unit)
  string(REPLACE "%" "%%" command "${BINDIR}/hangdog")
  if(command MATCHES " ")
    set(command "\"${command}\"")
  endif()
  string(REPLACE "@CMAKE_INSTALL_FULL_BINDIR@/hangdog" "${command}" unit "${unit}")
  file(WRITE "${SCRATCH}/${name}" "${unit}")
  file(INSTALL DESTINATION "${folder}" TYPE FILE FILES "${SCRATCH}/${name}")
  file(REMOVE_RECURSE "${SCRATCH}") # another user may install the next time
  set(CMAKE_INSTALL_MANIFEST_FILES "${CMAKE_INSTALL_MANIFEST_FILES}" PARENT_SCOPE)
endfunction()

install_unit("${DATADIR}/systemd/user" hangdog-upload.service ${UNITS}/uploader/systemd/hangdog-upload-user.service.in)
set(home "$ENV{HOME}")
string(FIND "${prefix}/" "${home}/" at)
if("$ENV{DESTDIR}" STREQUAL "" AND (prefix MATCHES "^/home/" OR (NOT home STREQUAL "" AND at EQUAL 0)))
  message(STATUS "Left out: the units of system services. They cannot start programs of a home; install below /usr/local for them.")
else()
  install_unit("${prefix}/lib/systemd/system" hangdog-serve.service ${UNITS}/cmake/hangdog-serve.service.in)
  install_unit("${prefix}/lib/systemd/system" hangdog-agent.service ${UNITS}/agent/hangdog-agent.service.in)
  install_unit("${prefix}/lib/systemd/system" hangdog-upload.service ${UNITS}/uploader/systemd/hangdog-upload-system.service.in)
  if(NOT prefix MATCHES "^/usr(/local)?$")
    message(STATUS "systemd does not look there; for these units: systemctl link ${prefix}/lib/systemd/system/hangdog-serve.service")
  endif()
endif()
