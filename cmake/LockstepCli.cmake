# build/bin/lockstep. Verbs that train are linked in only with the train half;
# in a study build their stub answers in one line.
find_package(CLI11 REQUIRED)
file(GLOB cli_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/cli/*.cpp)
if(LOCKSTEP_TRAIN)
  file(GLOB half CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/cli/train/*.cpp)
else()
  file(GLOB half CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/cli/study/*.cpp)
endif()
add_executable(lockstep_cli ${cli_sources} ${half})
set_target_properties(lockstep_cli PROPERTIES OUTPUT_NAME lockstep)
lockstep_compile_together(lockstep_cli)
target_link_libraries(lockstep_cli PRIVATE lockstep::study CLI11::CLI11 ${CMAKE_DL_LIBS})
target_compile_options(lockstep_cli PRIVATE $<$<CONFIG:Release>:-O1>)  # it only asks and prints
if(LOCKSTEP_TRAIN)
  target_link_libraries(lockstep_cli PRIVATE lockstep::train)
endif()
# An old-style rpath holds for the libraries of libraries too: `make dist` puts
# the decoders' codecs beside ours and need not alter them.
target_link_options(lockstep_cli PRIVATE LINKER:--disable-new-dtags)
