# The train half: one shared library on the CPU half of LibTorch. It is shared
# because liblockstep_cuda.so throws its errors and fills its records: two
# copies of a type would meet at run time.
find_package(LibTorch 2.11 REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(JPEG REQUIRED)
find_package(PNG REQUIRED)
pkg_check_modules(SndFile REQUIRED IMPORTED_TARGET sndfile)

set(LOCKSTEP_TRAIN_FOLDERS device measure data model comm strategy optim
                           kernels train)

# MPI where it is found; else a stub that refuses in one line.
find_package(MPI COMPONENTS CXX)
set(mpi_folder comm/no_mpi)
if(MPI_CXX_FOUND)
  set(mpi_folder comm/mpi)
  # For this file alone: MPI's flags in all would spoil the precompiled header.
  list(TRANSFORM MPI_CXX_INCLUDE_DIRS PREPEND -isystem OUTPUT_VARIABLE mpi_options)
  set_source_files_properties(${PROJECT_SOURCE_DIR}/lockstep/comm/mpi/mpi_wire.cpp
                              PROPERTIES COMPILE_OPTIONS "${mpi_options}")
endif()
lockstep_sources(sources ${LOCKSTEP_TRAIN_FOLDERS} ${mpi_folder})
add_library(lockstep_train SHARED ${sources} ${PROJECT_SOURCE_DIR}/lockstep/run.cpp)
add_library(lockstep::train ALIAS lockstep_train)
# No <target>_EXPORTS: programs could not share the precompiled header.
set_target_properties(lockstep_train PROPERTIES EXPORT_NAME train DEFINE_SYMBOL "")
target_link_libraries(
  lockstep_train
  PUBLIC lockstep::study LibTorch::cpu
  PRIVATE JPEG::JPEG PNG::PNG PkgConfig::SndFile ${CMAKE_DL_LIBS} ${MPI_CXX_LIBRARIES})
# torch's headers cost 25 s a file; compiled once, 5 to 11. Loading them costs
# three where they are not needed, so files that name none of them go without.
target_precompile_headers(lockstep_train PRIVATE ${PROJECT_SOURCE_DIR}/lockstep/train/torch_pch.h)
function(lockstep_skip_torch_headers)
  foreach(source IN LISTS ARGN)
    file(STRINGS ${source} torch REGEX
         "#include (<torch/|<ATen/ATen.h>|\"lockstep/model/(layers|batch_norm|token_layers).h|\"tests/(strategy|cuda|comm)/)")
    if(NOT torch)
      set_source_files_properties(${source} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
    endif()
  endforeach()
endfunction()
lockstep_skip_torch_headers(${sources})
# Decoding and augmentation: loops worth -O3, and the same sample is the same
# bits on every machine: no fused multiply-adds.
file(GLOB data_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/lockstep/data/*.cpp)
set_source_files_properties(${data_sources} PROPERTIES COMPILE_OPTIONS "-O3;-ffp-contract=off")

# For programs: they are compiled as the library is (-fPIC, not -fPIE), or GCC
# refuses its header.
function(lockstep_reuse_torch_pch target)
  target_compile_options(${target} PRIVATE -fPIC)
  target_precompile_headers(${target} REUSE_FROM lockstep_train)
endfunction()

# Kernels: the same bodies compiled for several instruction sets, chosen at run
# time (kernels/isa.h). -O3 vectorises; sqrt must not set errno to be a vector.
set(kernel_flags -O3 -fno-math-errno -fno-trapping-math -ffp-contract=fast -Wno-psabi)
set(kernel_flags_plain)
set(kernel_flags_avx2)
set(kernel_flags_avx512)
if(CMAKE_SYSTEM_PROCESSOR STREQUAL x86_64)
  set(kernel_flags_avx2 -mavx2 -mfma)
  set(kernel_flags_avx512 -mavx512f -mavx512vl -mavx512dq -mavx512bw -mfma -mprefer-vector-width=512)
endif()
foreach(isa plain avx2 avx512)
  file(GLOB kernel_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/lockstep/kernels/*_${isa}.cpp)
  set_source_files_properties(
    ${kernel_sources} PROPERTIES SKIP_PRECOMPILE_HEADERS ON
                                 COMPILE_OPTIONS "${kernel_flags};${kernel_flags_${isa}}")
endforeach()
# Compiled with OpenMP, linked without: torch's own libgomp is in the process.
set_source_files_properties(
  ${PROJECT_SOURCE_DIR}/lockstep/kernels/parallel.cpp
  PROPERTIES SKIP_PRECOMPILE_HEADERS ON COMPILE_OPTIONS -fopenmp)
