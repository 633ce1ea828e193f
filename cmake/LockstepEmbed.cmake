# Data files that ship inside the program:
#   lockstep_embed(TARGET NAME FILE)
# gives TARGET `extern const std::string_view lockstep::embedded::NAME`.
# Changing FILE is enough to build again.
function(lockstep_embed target name file)
  file(READ ${file} text)
  set(out ${PROJECT_BINARY_DIR}/embedded/${name}.cpp)
  file(
    CONFIGURE
    OUTPUT ${out}
    @ONLY
    CONTENT
      [[
// Made by cmake/LockstepEmbed.cmake from @file@.
#include <string_view>
namespace lockstep::embedded {
extern const std::string_view @name@;
const std::string_view @name@ = R"embedded(@text@)embedded";
}  // namespace lockstep::embedded
]])
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  target_sources(${target} PRIVATE ${out})
endfunction()
