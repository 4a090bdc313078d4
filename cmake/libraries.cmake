# SPDX-License-Identifier: Apache-2.0
# libraries.cmake: libsitu.so and libsitu.a from the objects, and the public header that is made from the op rows.

set(version_script ${CMAKE_SOURCE_DIR}/cmake/situ.map)
add_library(situ SHARED)
target_link_libraries(situ PRIVATE situ_objects ${SITU_BUNDLED_ARCHIVES} situ_flags)
# Workers and the handlers of forks outlive a dlclose: the library stays.
target_link_options(situ PRIVATE -Wl,--version-script=${version_script} -Wl,-z,nodelete)
set_target_properties(situ PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
                                      LINK_DEPENDS ${version_script} LINKER_LANGUAGE C)

# One relocatable object whose internal symbols are local: short internal names cannot meet a user's.
# The wheel may take the archive and the header of another build folder.
set(SITU_PREBUILT "" CACHE PATH "A build folder whose libsitu.a and <situ/ops.h> are ready")
set(SITU_ARCHIVE ${CMAKE_BINARY_DIR}/libsitu.a)
add_custom_target(situ_archive ALL)
add_custom_target(situ_headers ALL)
set(local_symbols --localize-hidden)
if(SITU_SANITIZE) # where nothing is hidden
  set(local_symbols --wildcard "--keep-global-symbol=situ_*")
endif()
if(SITU_PREBUILT)
  set(SITU_ARCHIVE ${SITU_PREBUILT}/libsitu.a)
  set(SITU_GENERATED ${SITU_PREBUILT}/include)
else()
  add_custom_command(
    OUTPUT ${SITU_ARCHIVE}
    COMMAND ${CMAKE_LINKER} -r -o situ.o $<TARGET_OBJECTS:situ_objects> ${SITU_BUNDLED_ARCHIVES}
    COMMAND ${CMAKE_OBJCOPY} ${local_symbols} situ.o
    COMMAND ${CMAKE_COMMAND} -E rm -f ${SITU_ARCHIVE}
    COMMAND ${CMAKE_AR} rcs ${SITU_ARCHIVE} situ.o
    DEPENDS situ_objects $<TARGET_OBJECTS:situ_objects>
    WORKING_DIRECTORY ${CMAKE_BINARY_DIR}
    COMMAND_EXPAND_LISTS VERBATIM)
  add_custom_target(situ_archive_file DEPENDS ${SITU_ARCHIVE})
  add_dependencies(situ_archive situ_archive_file)
endif()

# The same objects for programs that look inside: each takes what it needs. Instrumented code is large: there
# the programs share a library, instead of several GB of copies.
set(inside_kind STATIC)
if(SITU_SANITIZE)
  set(inside_kind SHARED)
endif()
add_library(situ_inside ${inside_kind} $<TARGET_OBJECTS:situ_objects>)
target_include_directories(situ_inside PUBLIC ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include)
target_link_libraries(situ_inside PUBLIC ${SITU_BUNDLED_ARCHIVES} situ_flags)
set_target_properties(situ_inside PROPERTIES
                      LINKER_LANGUAGE C ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/inside
                      LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/inside)

# tools/ops_header.c prints <situ/ops.h> on standard output.
set(SITU_OPS_HEADER)
if(NOT SITU_PREBUILT AND EXISTS ${CMAKE_SOURCE_DIR}/tools/ops_header.c)
  add_executable(ops_header tools/ops_header.c)
  target_link_libraries(ops_header PRIVATE situ_inside)
  set_target_properties(ops_header PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tools)
  set(SITU_OPS_HEADER ${SITU_GENERATED}/situ/ops.h)
  add_custom_command(
    OUTPUT ${SITU_OPS_HEADER}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${SITU_GENERATED}/situ
    COMMAND ops_header > ${SITU_OPS_HEADER}.new
    COMMAND ${CMAKE_COMMAND} -E copy_if_different ${SITU_OPS_HEADER}.new ${SITU_OPS_HEADER}
    COMMAND ${CMAKE_COMMAND} -E touch_nocreate ${SITU_OPS_HEADER}
    DEPENDS ops_header)
  add_custom_target(situ_ops_header DEPENDS ${SITU_OPS_HEADER})
  add_dependencies(situ_headers situ_ops_header)
endif()

# What a user of the library sees: the public headers and the archive.
add_library(situ_public INTERFACE)
target_include_directories(situ_public INTERFACE ${CMAKE_SOURCE_DIR}/include ${SITU_GENERATED})
target_link_libraries(situ_public INTERFACE ${SITU_ARCHIVE} situ_flags)
