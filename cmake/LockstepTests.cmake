# tests/<folder>/<file>_test.cpp tests lockstep/<folder>/<file>: one program and
# one ctest entry a folder. tests/<folder>/*_test.py drive the built binary.
enable_testing()
find_package(GTest REQUIRED)
find_package(rapidcheck REQUIRED)

# What the sanitizer builds run (target `sanitized`, label `sanitized`): with
# ASan and UBSan kill, bit-equality and bad input; with TSan whatever has
# threads. Each program costs half a minute to build: no more than these.
if(LOCKSTEP_SANITIZE MATCHES thread)
  set(LOCKSTEP_SANITIZED ${LOCKSTEP_STUDY_FOLDERS} comm data measure strategy)
elseif(LOCKSTEP_SANITIZE)
  set(LOCKSTEP_SANITIZED core config store comm data strategy cli run)
endif()
add_custom_target(sanitized)

# Labels a test; one of a folder listed above is built and run in a sanitizer's build.
function(lockstep_label test folder target processors)
  set(labels ${folder})
  if(folder IN_LIST LOCKSTEP_SANITIZED)
    list(APPEND labels sanitized)
    add_dependencies(sanitized ${target})
  endif()
  set_tests_properties(${test} PROPERTIES LABELS "${labels}" PROCESSORS ${processors})
endfunction()

function(lockstep_test folder half)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/${folder}/*_test.cpp)
  if(NOT sources)
    return()
  endif()
  add_executable(${folder}_test ${sources})
  target_link_libraries(${folder}_test PRIVATE lockstep::${half} GTest::gmock GTest::gtest_main rapidcheck)
  target_compile_definitions(${folder}_test PRIVATE LOCKSTEP_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  # What a test itself computes is little.
  target_compile_options(${folder}_test PRIVATE $<$<CONFIG:Release>:-O1>)
  lockstep_compile_together(${folder}_test)
  if(half STREQUAL train AND NOT folder MATCHES "^(data|measure)$")
    lockstep_reuse_torch_pch(${folder}_test)
  endif()
  add_test(NAME ${folder} COMMAND ${folder}_test WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  # Ranks are threads: two cores each, so that times in tests mean something.
  if(half STREQUAL train)
    lockstep_label(${folder} ${folder} ${folder}_test 2)
  else()
    lockstep_label(${folder} ${folder} ${folder}_test 1)
  endif()
endfunction()

foreach(folder IN LISTS LOCKSTEP_STUDY_FOLDERS)
  lockstep_test(${folder} study)
endforeach()
if(LOCKSTEP_TRAIN)
  foreach(folder IN LISTS LOCKSTEP_TRAIN_FOLDERS)
    lockstep_test(${folder} train)
  endforeach()
  if(TARGET data_test)  # writes files in these formats
    target_link_libraries(data_test PRIVATE JPEG::JPEG PNG::PNG PkgConfig::SndFile)
  endif()
endif()

# The MPI group needs processes: a program that a script starts with mpirun.
if(LOCKSTEP_TRAIN AND MPI_CXX_FOUND)
  add_executable(comm_mpi_program ${PROJECT_SOURCE_DIR}/tests/comm/mpi/group_program.cpp)
  target_link_libraries(comm_mpi_program PRIVATE lockstep::train)
  lockstep_reuse_torch_pch(comm_mpi_program)
endif()

# What silent_test.py loads before the program.
if(LOCKSTEP_TRAIN)
  add_library(run_silent_disk MODULE ${PROJECT_SOURCE_DIR}/tests/run/silent/disk.cpp)
endif()

# Tests of the CUDA half fail where there is no GPU: `make test-gpu` builds and
# runs them where there is.
if(TARGET lockstep_cuda)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/cuda/*_test.cpp)
  add_executable(cuda_test EXCLUDE_FROM_ALL ${sources})
  target_include_directories(cuda_test PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(cuda_test PRIVATE lockstep::train GTest::gmock GTest::gtest_main)
  target_link_options(cuda_test PRIVATE LINKER:--disable-new-dtags)
  add_dependencies(cuda_test lockstep_cuda)
  lockstep_reuse_torch_pch(cuda_test)
  lockstep_compile_together(cuda_test)
endif()

# Tests of the program from outside. tests/cli works in both builds.
# The set-up's Python has what the tests import.
if(EXISTS ${PROJECT_SOURCE_DIR}/.venv/bin/python3 AND NOT Python3_EXECUTABLE)
  set(Python3_EXECUTABLE ${PROJECT_SOURCE_DIR}/.venv/bin/python3)
endif()
find_package(Python3 3.10 COMPONENTS Interpreter REQUIRED)
set(outside cli tree)
if(LOCKSTEP_TRAIN)
  list(APPEND outside run)
endif()
foreach(folder IN LISTS outside)
  file(GLOB scripts CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/${folder}/*_test.py)
  foreach(script IN LISTS scripts)
    get_filename_component(name ${script} NAME_WE)
    if(name MATCHES "^(mpi|predict_link)_test$" AND (LOCKSTEP_SANITIZE OR NOT MPI_CXX_FOUND))
      continue()
    endif()
    # A sanitizer wants to be the first library that is loaded.
    if(name STREQUAL silent_test AND LOCKSTEP_SANITIZE)
      continue()
    endif()
    add_test(NAME ${folder}/${name} COMMAND ${Python3_EXECUTABLE} ${script} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    set_tests_properties(
      ${folder}/${name}
      PROPERTIES ENVIRONMENT
                 "LOCKSTEP_BIN=$<TARGET_FILE:lockstep_cli>;LOCKSTEP_BUILD=${PROJECT_BINARY_DIR};LOCKSTEP_MPIRUN=${MPIEXEC_EXECUTABLE};PYTHONDONTWRITEBYTECODE=1")
    if(name STREQUAL silent_test)
      set_property(TEST run/silent_test APPEND PROPERTY ENVIRONMENT LOCKSTEP_SILENT_DISK=$<TARGET_FILE:run_silent_disk>)
    endif()
    if(folder STREQUAL run)
      lockstep_label(${folder}/${name} ${folder} lockstep_cli 2)
      set_tests_properties(${folder}/${name} PROPERTIES SKIP_RETURN_CODE 77)
    else()
      lockstep_label(${folder}/${name} ${folder} lockstep_cli 1)
    endif()
  endforeach()
endforeach()

# The pages in a real browser. Without one the tests are listed as not run.
find_program(LOCKSTEP_CHROMIUM chromium)
file(GLOB scripts CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/web/*_test.py)
foreach(script IN LISTS scripts)
  get_filename_component(name ${script} NAME_WE)
  add_test(NAME web/${name} COMMAND ${Python3_EXECUTABLE} ${script} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(
    web/${name} PROPERTIES ENVIRONMENT
    "LOCKSTEP_BIN=$<TARGET_FILE:lockstep_cli>;LOCKSTEP_CHROMIUM=${LOCKSTEP_CHROMIUM};PYTHONDONTWRITEBYTECODE=1")
  lockstep_label(web/${name} web lockstep_cli 1)
  if(NOT LOCKSTEP_CHROMIUM)
    message(STATUS "web/${name} will not run: there is no chromium here")
    set_tests_properties(web/${name} PROPERTIES DISABLED TRUE)
  endif()
endforeach()

if(TARGET comm_mpi_program AND NOT LOCKSTEP_SANITIZE)
  foreach(script mpi_group two_hosts)
    add_test(NAME comm/${script} COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tests/comm/${script}_test.py)
    set_tests_properties(
      comm/${script} PROPERTIES SKIP_RETURN_CODE 77 ENVIRONMENT
      "LOCKSTEP_MPI_PROGRAM=$<TARGET_FILE:comm_mpi_program>;LOCKSTEP_MPIRUN=${MPIEXEC_EXECUTABLE};PYTHONDONTWRITEBYTECODE=1")
    lockstep_label(comm/${script} comm comm_mpi_program 2)
  endforeach()
endif()
