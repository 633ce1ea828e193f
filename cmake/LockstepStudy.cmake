# The study half: one shared library that knows nothing of LibTorch.
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(Eigen3 REQUIRED)
find_package(Threads REQUIRED)
# Compiled with features that change its classes: its own flags, or none fits.
find_package(PkgConfig REQUIRED)
pkg_check_modules(HttpLib REQUIRED IMPORTED_TARGET cpp-httplib)

set(LOCKSTEP_STUDY_FOLDERS core config plan hardware predict batch store
                           analyse advise sweep report serve)

# All sources of some folders of lockstep/, found again when one is added.
function(lockstep_sources out)
  set(found)
  foreach(folder IN LISTS ARGN)
    file(GLOB some CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/lockstep/${folder}/*.cpp)
    list(APPEND found ${some})
  endforeach()
  set(${out} ${found} PARENT_SCOPE)
endfunction()

lockstep_sources(sources ${LOCKSTEP_STUDY_FOLDERS})
add_library(lockstep_study SHARED ${sources})
add_library(lockstep::study ALIAS lockstep_study)
set_target_properties(lockstep_study PROPERTIES EXPORT_NAME study)
target_compile_features(lockstep_study PUBLIC cxx_std_20)
target_compile_definitions(lockstep_study PRIVATE LOCKSTEP_VERSION="${PROJECT_VERSION}")
target_include_directories(
  lockstep_study PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
                        $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_libraries(
  lockstep_study
  PUBLIC fmt::fmt nlohmann_json::nlohmann_json Threads::Threads
  PRIVATE Eigen3::Eigen PkgConfig::HttpLib)
# No precompiled header: ccache does not share what was compiled with one between
# the whole build and the study half's. These folders read, write and lay out
# text: -O1 shows in no time they take, and their compilation takes a quarter less.
lockstep_sources(text config store hardware plan advise sweep report serve)
set_source_files_properties(${text} PROPERTIES COMPILE_OPTIONS $<$<CONFIG:Release>:-O1>)
include(LockstepCeres)
lockstep_link_ceres(lockstep_study)

include(LockstepEmbed)
foreach(name devices links link_points clusters)
  lockstep_embed(lockstep_study preset_${name}
                 ${PROJECT_SOURCE_DIR}/lockstep/hardware/presets/${name}.csv)
endforeach()
foreach(name table_constants table_workloads)
  lockstep_embed(lockstep_study ${name}
                 ${PROJECT_SOURCE_DIR}/lockstep/predict/${name}.csv)
endforeach()
# The page of a report: web/<file> is embedded::page_<name>.
foreach(part html=report.html css=report.css figures=figures.js
             seed_figures=seed_figures.js validation=validation.js script=report.js)
  string(REPLACE "=" ";" pair ${part})
  list(GET pair 0 name)
  list(GET pair 1 file)
  lockstep_embed(lockstep_study page_${name} ${PROJECT_SOURCE_DIR}/web/${file})
endforeach()
foreach(name stevens_epoch_seconds hpml_tables)
  lockstep_embed(lockstep_study seed_${name}
                 ${PROJECT_SOURCE_DIR}/lockstep/report/seeds/${name}.csv)
endforeach()
