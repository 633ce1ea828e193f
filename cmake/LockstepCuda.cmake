# liblockstep_cuda.so: built where nvcc is found, opened by the program when a
# GPU is asked for. The CUDA libraries it needs beside the runtime (cuBLAS,
# NCCL, ...) come with LibTorch on the machine that has the GPU: they need not
# be on the one that builds.
lockstep_sources(cuda_sources cuda)
file(GLOB kernels CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/lockstep/cuda/*.cu)
find_program(LOCKSTEP_NVCC nvcc HINTS $ENV{CUDA_HOME}/bin /usr/local/cuda/bin)
# A sanitizer's run has no GPU.
if(NOT cuda_sources OR NOT LOCKSTEP_NVCC OR LOCKSTEP_SANITIZE)
  message(STATUS "liblockstep_cuda: not built (nvcc: ${LOCKSTEP_NVCC})")
  return()
endif()
if(CMAKE_VERSION VERSION_LESS 3.28)
  message(WARNING "liblockstep_cuda: not built, CMake ${CMAKE_VERSION} cannot do CUDA in C++20. "
                  "A newer one: pip install cmake")
  return()
endif()

# Machine code for Hopper, and code the driver can translate for the others.
set(CMAKE_CUDA_ARCHITECTURES 80-virtual 90-real 90-virtual)
set(CMAKE_CUDA_COMPILER ${LOCKSTEP_NVCC})
set(CMAKE_CUDA_STANDARD 20)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
set(CMAKE_CUDA_RUNTIME_LIBRARY Shared)
if(LOCKSTEP_CCACHE AND NOT CMAKE_CUDA_COMPILER_LAUNCHER)
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${LOCKSTEP_CCACHE})
endif()
enable_language(CUDA)
find_package(CUDAToolkit REQUIRED)
find_library(LibTorch_CUDA torch_cuda PATHS ${LOCKSTEP_TORCH}/lib NO_DEFAULT_PATH REQUIRED)
find_library(LibTorch_C10_CUDA c10_cuda PATHS ${LOCKSTEP_TORCH}/lib NO_DEFAULT_PATH REQUIRED)
# NCCL's header, from the toolkit or the Python package nvidia-nccl-cu13. Its
# library comes with libtorch_cuda.
find_path(NCCL_INCLUDE nccl.h HINTS ${CUDAToolkit_INCLUDE_DIRS}
          ${LOCKSTEP_TORCH}/../nvidia/nccl/include REQUIRED)

add_library(lockstep_cuda SHARED ${cuda_sources} ${kernels})
lockstep_compile_together(lockstep_cuda)
set_source_files_properties(${kernels} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
target_include_directories(lockstep_cuda SYSTEM PRIVATE ${NCCL_INCLUDE})
target_compile_options(
  lockstep_cuda PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra,-Wno-restrict
                        --expt-relaxed-constexpr>)
target_link_libraries(lockstep_cuda PRIVATE lockstep::train ${LibTorch_CUDA} ${LibTorch_C10_CUDA}
                                            CUDA::cudart)
target_link_options(lockstep_cuda PRIVATE LINKER:--allow-shlib-undefined)
install(TARGETS lockstep_cuda)
