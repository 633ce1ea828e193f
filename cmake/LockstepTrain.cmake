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

add_library(lockstep_train SHARED)
add_library(lockstep::train ALIAS lockstep_train)
set_target_properties(lockstep_train PROPERTIES EXPORT_NAME train)
target_link_libraries(lockstep_train PUBLIC lockstep::study LibTorch::cpu
                                     PRIVATE JPEG::JPEG PNG::PNG PkgConfig::SndFile ${CMAKE_DL_LIBS})

# torch's headers cost 25 s a unit; compiled once, they cost 3. Decoding and
# measuring hardly name them and do without.
add_library(folder_run OBJECT ${PROJECT_SOURCE_DIR}/lockstep/run.cpp)
target_precompile_headers(folder_run PRIVATE ${PROJECT_SOURCE_DIR}/lockstep/train/torch_pch.h)
target_sources(lockstep_train PRIVATE $<TARGET_OBJECTS:folder_run>)
target_link_libraries(folder_run PRIVATE lockstep_study_needs LibTorch::cpu)
foreach(folder IN LISTS LOCKSTEP_TRAIN_FOLDERS)
  lockstep_folder(lockstep_train ${folder})
  target_link_libraries(folder_${folder} PRIVATE lockstep_study_needs LibTorch::cpu)
  if(NOT folder MATCHES "^(data|measure)$")
    target_precompile_headers(folder_${folder} REUSE_FROM folder_run)
  endif()
endforeach()
# Decoding and augmentation: loops worth -O3, and the same sample is the same
# bits on every machine: no fused multiply-adds.
target_compile_options(folder_data PRIVATE -O3 -ffp-contract=off)
target_link_libraries(folder_data PRIVATE JPEG::JPEG PNG::PNG PkgConfig::SndFile)

# MPI where it is found; else a stub that refuses in one line.
find_package(MPI COMPONENTS CXX)
if(MPI_CXX_FOUND)
  add_library(folder_mpi OBJECT ${PROJECT_SOURCE_DIR}/lockstep/comm/mpi/mpi_wire.cpp)
  target_link_libraries(folder_mpi PRIVATE MPI::MPI_CXX)
  target_link_libraries(lockstep_train PRIVATE ${MPI_CXX_LIBRARIES})
else()
  add_library(folder_mpi OBJECT ${PROJECT_SOURCE_DIR}/lockstep/comm/no_mpi/mpi_wire.cpp)
endif()
target_link_libraries(folder_mpi PRIVATE lockstep_study_needs LibTorch::cpu)
target_sources(lockstep_train PRIVATE $<TARGET_OBJECTS:folder_mpi>)

# For programs: they are compiled as the library is (-fPIC, not -fPIE), or GCC
# refuses its header.
function(lockstep_reuse_torch_pch target)
  target_compile_options(${target} PRIVATE -fPIC)
  target_precompile_headers(${target} REUSE_FROM folder_run)
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
