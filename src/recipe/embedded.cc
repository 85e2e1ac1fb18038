// The assembler copies the files in: fast, and no path of the building machine ends up in the program.
// embedded.inc, which CMake writes, has a line EMBEDDED(symbol, "folder/name", "name") for each.
#include "ingot/recipe/embedded.h"

#define EMBEDDED(symbol, path, name)                                                                                  \
  __asm__(".pushsection .rodata\n.balign 64\n.globl ingot_file_" #symbol "\ningot_file_" #symbol ":\n.incbin \"" path \
          "\"\n.globl ingot_file_end_" #symbol "\ningot_file_end_" #symbol ":\n.byte 0\n.popsection\n");              \
  extern "C" const char ingot_file_##symbol[], ingot_file_end_##symbol[];
#include "embedded.inc"
#undef EMBEDDED

namespace ingot::recipe {

std::span<const EmbeddedFile> embedded_files() {
  static const EmbeddedFile files[] = {
#define EMBEDDED(symbol, path, name) {name, {ingot_file_##symbol, ingot_file_end_##symbol}},
#include "embedded.inc"
#undef EMBEDDED
  };
  return files;
}

}  // namespace ingot::recipe
