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

include(LockstepFolder)
include(LockstepCeres)

# What every source of the study half is compiled with.
add_library(lockstep_study_needs INTERFACE)
target_compile_features(lockstep_study_needs INTERFACE cxx_std_20)
target_include_directories(lockstep_study_needs INTERFACE ${PROJECT_SOURCE_DIR})
target_link_libraries(lockstep_study_needs INTERFACE fmt::fmt nlohmann_json::nlohmann_json Threads::Threads)

add_library(lockstep_study SHARED)
add_library(lockstep::study ALIAS lockstep_study)
set_target_properties(lockstep_study PROPERTIES EXPORT_NAME study)
target_compile_features(lockstep_study PUBLIC cxx_std_20)
target_include_directories(
  lockstep_study PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
                        $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_libraries(
  lockstep_study
  PUBLIC fmt::fmt nlohmann_json::nlohmann_json Threads::Threads
  PRIVATE PkgConfig::HttpLib)
lockstep_link_ceres(lockstep_study)

# No precompiled header: ccache does not share what was compiled with one between
# the whole build and the study half's. Folders that read, write and lay out text
# are compiled with -O1: it shows in no time they take, and saves a quarter.
set(text_folders config store hardware plan advise sweep report serve)
foreach(folder IN LISTS LOCKSTEP_STUDY_FOLDERS)
  set(options)
  if(folder IN_LIST text_folders)
    set(options $<$<CONFIG:Release>:-O1>)
  endif()
  lockstep_folder(lockstep_study ${folder} ${options})
  target_link_libraries(folder_${folder} PRIVATE lockstep_study_needs)
endforeach()
foreach(folder analyse batch predict)
  target_link_libraries(folder_${folder} PRIVATE Eigen3::Eigen Ceres::ceres)
endforeach()
target_link_libraries(folder_serve PRIVATE PkgConfig::HttpLib)
target_compile_definitions(folder_core PRIVATE LOCKSTEP_VERSION="${PROJECT_VERSION}")

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
