# Compiler settings shared by every room, and the function that declares a room.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release)
endif()

find_program(INGOT_CCACHE ccache)
if(INGOT_CCACHE AND PROJECT_IS_TOP_LEVEL AND NOT INGOT_FIRST_LOOK)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${INGOT_CCACHE})
endif()

find_package(Threads REQUIRED)
find_package(Python3 REQUIRED COMPONENTS Interpreter)  # tools/opgen.py
find_path(INGOT_HIGHWAY_INCLUDE hwy/highway.h REQUIRED NO_CMAKE_FIND_ROOT_PATH)
set(INGOT_HIGHWAY_DIR ${INGOT_HIGHWAY_INCLUDE})
if(CMAKE_CROSSCOMPILING)
  # A cross compiler must see Highway alone, not the rest of the host's /usr/include.
  set(INGOT_HIGHWAY_DIR ${PROJECT_BINARY_DIR}/highway)
  file(MAKE_DIRECTORY ${INGOT_HIGHWAY_DIR})
  file(CREATE_LINK ${INGOT_HIGHWAY_INCLUDE}/hwy ${INGOT_HIGHWAY_DIR}/hwy SYMBOLIC)
endif()

# What every translation unit of ours is compiled with. SSE4 is the x86 baseline; wider targets are chosen at run time.
# ingot_flags is the part of it that says nothing about where our sources are: enough for programs on public headers.
add_library(ingot_flags INTERFACE)
add_library(ingot_settings INTERFACE)
target_link_libraries(ingot_settings INTERFACE ingot_flags)
target_compile_options(ingot_flags INTERFACE -Wall -Wextra -Wshadow -fno-math-errno -fno-trapping-math -ffp-contract=off
                                                -fno-semantic-interposition -ffunction-sections -fdata-sections
                                                # Regions of Highway's target attribute without a function are meant to be empty.
                                                $<$<CXX_COMPILER_ID:Clang>:-Wno-pragma-clang-attribute>)
if(INGOT_WERROR)
  target_compile_options(ingot_flags INTERFACE -Werror)
endif()
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  target_compile_options(ingot_flags INTERFACE -march=${INGOT_X86_BASELINE})
endif()
# HWY_SSSE3 would only repeat the baseline.
set(INGOT_HWY_DISABLED "HWY_SSSE3")
if(NOT INGOT_AVX512)
  string(APPEND INGOT_HWY_DISABLED "|HWY_AVX3|HWY_AVX3_DL")
endif()
if(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
  # Vectors of a length known only at run time: our kernels hold arrays of them, which those targets do not allow.
  string(APPEND INGOT_HWY_DISABLED "|HWY_SVE|HWY_SVE2|HWY_SVE_256|HWY_SVE2_128")
endif()
target_compile_definitions(ingot_settings INTERFACE HWY_DISABLE_PCLMUL_AES HWY_IS_DEBUG_BUILD=0 "HWY_DISABLED_TARGETS=(${INGOT_HWY_DISABLED})")
target_include_directories(ingot_settings INTERFACE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
target_include_directories(ingot_settings SYSTEM INTERFACE ${INGOT_HIGHWAY_DIR})

if(INGOT_SANITIZE)
  # GCC reports uninitialised values that are none once the sanitizer's own code is in the way. Its checks for null pointers make
  # the table of ops, which compares function pointers, no constant any more; the address sanitizer sees a null all the same.
  target_compile_options(ingot_flags INTERFACE
    -fsanitize=${INGOT_SANITIZE} -fno-sanitize-recover=undefined -fno-sanitize=null,nonnull-attribute,returns-nonnull-attribute
    -fno-omit-frame-pointer $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  target_compile_definitions(ingot_flags INTERFACE _GLIBCXX_ASSERTIONS)
  target_link_options(ingot_flags INTERFACE -fsanitize=${INGOT_SANITIZE})
endif()

# ingot_precompile(TARGET ROOM LEVEL): half of what the compiler reads is the standard library, and for rooms that write text, fmt. They
# are read once per level of optimisation, which GCC takes from the precompiled headers whatever the source's own flags say: sources of
# another level than their room's go without. The first room of a level keeps them for the others; a program is compiled in another way
# than a library and has its own. None of our own headers is among them, but for a first look, which does without ccache: GCC knows a
# `#pragma once` by the file's date, and ccache brings precompiled headers from other checkouts, where the dates differ.
function(ingot_precompile target room level)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU" OR INGOT_LTO OR room STREQUAL "kernels")
    return()
  endif()
  set(headers <algorithm> <array> <atomic> <cmath> <cstring> <functional> <limits> <memory> <optional> <span> <string> <unordered_map>
              <vector>)
  set(kept_as ${level})
  if(room MATCHES "^(recipe|cli)$|_door$")
    list(APPEND headers <fmt/format.h>)
    string(APPEND kept_as "_fmt")
    if(INGOT_FIRST_LOOK)
      list(APPEND headers ${PROJECT_SOURCE_DIR}/include/ingot/ingot.h)
    endif()
  endif()
  get_property(keeper GLOBAL PROPERTY INGOT_PRECOMPILED_${kept_as})
  if(keeper AND NOT room STREQUAL "cli")
    target_precompile_headers(${target} REUSE_FROM ${keeper})
  else()
    target_precompile_headers(${target} PRIVATE ${headers})
    set_property(GLOBAL PROPERTY INGOT_PRECOMPILED_${kept_as} ${target})
  endif()
  # The first lets ccache look inside. In precompiled headers GCC 12 no longer knows the standard library for a system's, and warns
  # falsely of "text" + std::string.
  target_compile_options(${target} PRIVATE -fpch-preprocess -Wno-array-bounds -Wno-restrict -Wno-stringop-overflow)
endfunction()

# ingot_room(NAME [LEFT...]): an object library of src/NAME/*.cc that may use the rooms to its left. The door of a system,
# SYSTEM_door, is src/SYSTEM/door.
function(ingot_room name)
  string(REGEX REPLACE "_door$" "/door" folder ${name})
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${folder}/*.cc)
  if(name STREQUAL "base")
    file(GLOB system_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/base/os/*.cc)
    list(APPEND sources ${system_sources})
  endif()
  if(name STREQUAL "graph")
    file(GLOB interpreter_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/graph/cpu/*.cc)
    list(APPEND sources ${interpreter_sources})
  endif()
  if(name STREQUAL "logic")
    file(GLOB tensor_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/logic/tensor/*.cc ${PROJECT_SOURCE_DIR}/src/logic/theory/*.cc)
    list(APPEND sources ${tensor_sources})
  endif()
  if(name STREQUAL "exchange")
    file(GLOB format_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/exchange/*/*.cc)
    list(APPEND sources ${format_sources})
  endif()
  add_library(ingot_${name} OBJECT ${sources})
  if(name MATCHES "^(ops|gates|logic)$")  # rooms with ops: their functions and their span come from the blocks
    set(table ${PROJECT_BINARY_DIR}/generated/${name}_table.cc)
    add_custom_command(OUTPUT ${table} VERBATIM DEPENDS ${sources} ${PROJECT_SOURCE_DIR}/tools/opgen.py
      COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/opgen.py --table ${name} ${table})
    target_sources(ingot_${name} PRIVATE ${table})
  endif()
  target_link_libraries(ingot_${name} PUBLIC ingot_settings Threads::Threads)
  set_target_properties(ingot_${name} PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)  # INGOT_API shows
  # The loops that count are compiled per SIMD target, and reached through pointers: link-time optimisation could only compile
  # them twice. The rest need not be unrolled, what runs once per plan had better be small, and what hardly ever runs (and the JSON
  # of headers and circuits) quick to compile.
  if(INGOT_FUZZ AND NOT name STREQUAL "kernels")
    target_compile_options(ingot_${name} PRIVATE -fsanitize=fuzzer-no-link)  # shows the fuzzer where it has been
  endif()
  if(INGOT_SANITIZE MATCHES "address" AND name MATCHES "^(exchange|recipe)$|_door$")
    target_compile_options(ingot_${name} PRIVATE -O0)  # no loops over data: half the time to compile
  endif()
  string(REGEX MATCH "-O[0-9a-z]*" loops_level "${CMAKE_CXX_FLAGS_RELEASE}")
  if(INGOT_FIRST_LOOK)
    set(loops_level -O2)
  endif()
  set(room_level -O2)
  if(name STREQUAL "kernels")
    set(room_level ${loops_level})
  elseif(INGOT_FIRST_LOOK AND name MATCHES "^(base|gates|rl|rl_door)$")
    set(room_level -O1)  # loops of their own: turns, circuits
  elseif(INGOT_FIRST_LOOK)
    set(room_level -O0)
  elseif(name MATCHES "^(data|nn)$")
    set(room_level -Os)
  elseif(name MATCHES "^recipe$|_door$")
    set(room_level -O1)
  endif()
  ingot_precompile(ingot_${name} ${name} ${room_level})
  target_compile_options(ingot_${name} PRIVATE $<$<CONFIG:Release>:${room_level}>)
  foreach(source ${sources})
    file(STRINGS ${source} per_target REGEX "foreach_target\\.h")
    if(per_target AND INGOT_SANITIZE MATCHES "address")
      # Unrolled loops of vectors: with the address checks inline and all others on, they take three to six times as long to compile.
      if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
        set_property(SOURCE ${source} APPEND PROPERTY COMPILE_OPTIONS
          -fno-sanitize-address-use-after-scope --param asan-stack=0 --param asan-instrumentation-with-call-threshold=0
          -fno-sanitize=undefined -fsanitize=bounds,shift,signed-integer-overflow)
      else()
        set_property(SOURCE ${source} APPEND PROPERTY COMPILE_OPTIONS
          -fno-sanitize=undefined,fuzzer-no-link -mllvm -asan-stack=0 -mllvm -asan-instrumentation-with-call-threshold=0)
      endif()
    endif()
    set(level ${room_level})
    if(per_target)
      set(level ${loops_level})
    elseif(INGOT_FIRST_LOOK)
      set(level ${room_level})
    elseif(source MATCHES "graph/(draw|loop|picture|plan_file|plan_text|profile|program|slabs|verify)[a-z_]*\\.cc$|base/(print|text|os/[a-z_]+)\\.cc$")
      set(level -Os)
    elseif(source MATCHES "gates/circuit_(io|json|port)\\.cc$|io/safetensors\\.cc$")
      set(level -O1)
    endif()
    if(NOT level STREQUAL room_level)
      set_property(SOURCE ${source} APPEND PROPERTY COMPILE_OPTIONS $<$<CONFIG:Release>:${level}>)
      set_property(SOURCE ${source} PROPERTY SKIP_PRECOMPILE_HEADERS ON)
    endif()
    if(INGOT_LTO AND NOT per_target)
      set_property(SOURCE ${source} APPEND PROPERTY COMPILE_OPTIONS -flto=auto -ffat-lto-objects)
    endif()
  endforeach()
  set_property(GLOBAL APPEND PROPERTY INGOT_ROOMS ${name})
  set_property(GLOBAL PROPERTY INGOT_LEFT_OF_${name} ${ARGN})
endfunction()

# ingot_link_rooms(TARGET ROOM): links the objects of ROOM and of the rooms to its left, and nothing more.
function(ingot_link_rooms target room)
  get_property(left GLOBAL PROPERTY INGOT_LEFT_OF_${room})
  foreach(each ${left} ${room})
    target_link_libraries(${target} PRIVATE ingot_${each})
  endforeach()
  if(INGOT_LTO)
    target_link_options(${target} PRIVATE -fno-lto)
  endif()
endfunction()
