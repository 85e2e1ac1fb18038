# Tests of the product as a user receives it: headers, size, installed package, program; and in the slow tier, another machine.

# Every public header compiles alone, at -O0, without warnings, and shows nobody else's types.
file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/include/ingot ${PROJECT_SOURCE_DIR}/include/ingot/*.h)
foreach(name ${headers})
  add_test(NAME headers/${name} COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/check_header.sh ${CMAKE_CXX_COMPILER} ${PROJECT_SOURCE_DIR}/include ${name})
  set_tests_properties(headers/${name} PROPERTIES LABELS fast TIMEOUT 120)
endforeach()

# Programs that cannot work are refused in a few lines, as g++ counts them.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  ingot_product_test(refusals fast 300 check_refusals.sh ${CMAKE_CXX_COMPILER} ${PROJECT_SOURCE_DIR}/include)
endif()

if(INGOT_SHARED)
  add_test(NAME product/size COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/check_size.sh $<TARGET_FILE:ingot_shared> 6100000)
  add_test(NAME product/consumer
           COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/consumer/check.sh ${PROJECT_BINARY_DIR} ${CMAKE_CURRENT_BINARY_DIR}/consumer ${CMAKE_CXX_COMPILER} ${INGOT_IO} ${INGOT_RL} ${INGOT_RECIPE})
  set_tests_properties(product/size product/consumer PROPERTIES LABELS fast TIMEOUT 600)
  if(INGOT_GATES AND INGOT_RL AND INGOT_LOGIC AND INGOT_RECIPE)  # with all libraries there are
    ingot_product_test(exports fast 120 check_exports.py ${PROJECT_SOURCE_DIR}/include $<TARGET_FILE:ingot_shared> $<TARGET_FILE:ingot_io_shared>
                       $<TARGET_FILE:ingot_gates_shared> $<TARGET_FILE:ingot_rl_shared> $<TARGET_FILE:ingot_logic_shared> $<TARGET_FILE:ingot_recipe_shared>
                       $<TARGET_FILE:ingot_gates_door_shared> $<TARGET_FILE:ingot_rl_door_shared> $<TARGET_FILE:ingot_logic_door_shared>)
  endif()
endif()

if(INGOT_CLI)
  add_dependencies(ingot_tests ingot)
  ingot_product_test(documents fast 120 check_documents.sh $<TARGET_FILE:ingot>)
  ingot_product_test(profile fast 120 check_profile.sh $<TARGET_FILE:ingot>)
  ingot_product_test(train fast 300 check_train.sh $<TARGET_FILE:ingot> 20)
  ingot_product_test(data fast 120 check_data.sh $<TARGET_FILE:ingot>)
  ingot_product_test(hostile fast 300 check_hostile.sh $<TARGET_FILE:ingot>)
  if(INGOT_GATES)
    ingot_product_test(ca fast 300 check_ca.sh $<TARGET_FILE:ingot>)
    ingot_product_test(circuit fast 120 check_circuit.sh $<TARGET_FILE:ingot>)
  endif()
  if(INGOT_LOGIC)
    ingot_product_test(logic fast 120 check_logic_program.sh $<TARGET_FILE:ingot>)
    ingot_product_test(logic_random fast 300 check_logic.py $<TARGET_FILE:ingot> 200)
    ingot_product_test(logic_worlds fast 300 check_logic_worlds.py $<TARGET_FILE:ingot> 60)
    ingot_product_test(logic_worlds_1000 slow 3600 check_logic_worlds.py $<TARGET_FILE:ingot> 1000 1000)
    ingot_product_test(logic_random_3000 slow 3600 check_logic.py $<TARGET_FILE:ingot> 3000 1000)
  endif()
  if(INGOT_RL)
    ingot_product_test(cube fast 300 check_cube.sh $<TARGET_FILE:ingot>)
    ingot_product_test(rl_killed_100_times slow 1200 check_rl_kills.py $<TARGET_FILE:ingot> 100)
  endif()
  ingot_product_test(train_killed_200_times slow 1200 check_train.sh $<TARGET_FILE:ingot> 200)
  ingot_product_test(report slow 1200 check_report.py $<TARGET_FILE:ingot>)
  set_tests_properties(product/report PROPERTIES SKIP_RETURN_CODE 77)
  foreach(recipe mnist gates-mnist checkerboard text)
    ingot_product_test(result_of_${recipe} slow 3600 check_result.sh $<TARGET_FILE:ingot> ${recipe})
    set_tests_properties(product/result_of_${recipe} PROPERTIES SKIP_RETURN_CODE 77)
  endforeach()
endif()

# The slow tier: the rooms from base to nn for NEON, cross-compiled, their tests run under qemu.
find_program(INGOT_CROSS_CXX aarch64-linux-gnu-g++)
find_program(INGOT_QEMU qemu-aarch64)
if(INGOT_CROSS_CXX AND INGOT_QEMU)
  add_test(NAME aarch64/build WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
           COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/build_aarch64.sh ${PROJECT_BINARY_DIR}/aarch64)
  add_test(NAME aarch64/tests COMMAND ${CMAKE_CTEST_COMMAND} --test-dir ${PROJECT_BINARY_DIR}/aarch64 -L fast --output-on-failure --no-label-summary)
  set_tests_properties(aarch64/build PROPERTIES FIXTURES_SETUP aarch64)
  set_tests_properties(aarch64/tests PROPERTIES FIXTURES_REQUIRED aarch64)
  set_tests_properties(aarch64/build aarch64/tests PROPERTIES LABELS slow TIMEOUT 3600)
endif()

# And every reader of files against a fuzzer, for a minute each.
find_program(INGOT_CLANG clang++)
if(INGOT_IO AND INGOT_CLANG)
  set(fuzz_dir ${PROJECT_SOURCE_DIR}/build/asan)  # where ./dev builds them, too
  add_test(NAME fuzz/build WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/build.sh ${fuzz_dir})
  set_tests_properties(fuzz/build PROPERTIES FIXTURES_SETUP fuzz LABELS slow TIMEOUT 3600)
  file(GLOB targets CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/*_fuzz.cc)
  foreach(target ${targets})
    string(REGEX REPLACE ".*/(.*)_fuzz\\.cc$" "\\1" reader ${target})
    add_test(NAME fuzz/${reader} COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/run.sh ${fuzz_dir} ${reader} 60)
    set_tests_properties(fuzz/${reader} PROPERTIES FIXTURES_REQUIRED fuzz LABELS slow TIMEOUT 300)
  endforeach()
endif()
