# A folder of lockstep/ is an object library of its own: its flags are its own,
# and its files are compiled several at a time, which reads the headers they
# share once. That is why a name private to a file is unique in its folder.

# All sources of some folders of lockstep/, found again when one is added.
function(lockstep_sources out)
  set(found)
  foreach(folder IN LISTS ARGN)
    file(GLOB some CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/lockstep/${folder}/*.cpp)
    list(APPEND found ${some})
  endforeach()
  set(${out} ${found} PARENT_SCOPE)
endfunction()

# Sources with flags of their own are compiled alone all the same.
function(lockstep_compile_together target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${LOCKSTEP_UNITY} UNITY_BUILD_BATCH_SIZE 16)
endfunction()

# lockstep_folder(LIBRARY FOLDER [OPTION...]): the folder's objects, compiled
# with these options and what folder_FOLDER links, in LIBRARY.
function(lockstep_folder library folder)
  lockstep_sources(sources ${folder})
  add_library(folder_${folder} OBJECT ${sources})
  target_compile_options(folder_${folder} PRIVATE ${ARGN})
  lockstep_compile_together(folder_${folder})
  target_sources(${library} PRIVATE $<TARGET_OBJECTS:folder_${folder}>)
endfunction()
