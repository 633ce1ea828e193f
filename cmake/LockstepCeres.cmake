# Ceres with Eigen's solvers only. The packaged archive also names SuiteSparse's
# and LAPACK's, which bring BLAS, OpenMP and gfortran (17 MB) and whose names
# LibTorch exports too. We ask for none of them: in their place stands a function
# that says so, hidden, so that nothing but Ceres can meet it.
#   lockstep_link_ceres(TARGET)
# Where Ceres is a shared library it is linked as it is.
find_package(Ceres REQUIRED)

function(lockstep_link_ceres target)
  target_link_libraries(${target} PRIVATE Ceres::ceres)
  get_target_property(type Ceres::ceres TYPE)
  if(NOT type STREQUAL STATIC_LIBRARY)
    return()
  endif()
  get_target_property(archive Ceres::ceres LOCATION)
  execute_process(COMMAND ${CMAKE_NM} --undefined-only ${archive} OUTPUT_VARIABLE listing
                  ERROR_QUIET COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL " U (cholmod_|cs_d|[a-z]*amd_|METIS_|SuiteSparse_|_Z13SuiteSparseQR)[A-Za-z0-9_]*| U [ds][a-z0-9]+_\n"
         names "${listing}")
  list(TRANSFORM names STRIP)
  list(TRANSFORM names REPLACE "^U " "")
  list(REMOVE_DUPLICATES names)
  set(text "// Made by cmake/LockstepCeres.cmake from what ${archive} leaves open.\n")
  string(APPEND text "#include \"lockstep/core/error.h\"\n\n")
  foreach(name IN LISTS names)
    string(APPEND text "extern \"C\" [[gnu::visibility(\"hidden\")]] void ${name}() {\n"
           "  throw lockstep::Error(lockstep::Fault::internal, \"${name}\",\n"
           "                        \"a fit asked for a solver that is not Eigen's\");\n}\n")
  endforeach()
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/embedded/ceres_solvers.cpp CONTENT "${text}" @ONLY)
  target_sources(${target} PRIVATE ${PROJECT_BINARY_DIR}/embedded/ceres_solvers.cpp)
  # The package still lists the libraries; a version that leaves open what the
  # pattern does not name finds it there.
  target_link_options(${target} PRIVATE LINKER:--as-needed)
endfunction()
