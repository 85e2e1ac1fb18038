// A stranger's program with files: one written, read back, and refused.
#include <ingot/base/error.h>
#include <ingot/io/io.h>
#include <ingot/ops/ops.h>

#include <cstdio>
#include <string>
#include <vector>

int main(int, char** arguments) {
  const std::string path = std::string(arguments[0]) + ".safetensors";
  ingot::io::save_safetensors(path, std::vector<ingot::NamedTensor>{{"x", ingot::arange(0, 6)}},
                              {{"by", "a stranger"}});
  const ingot::io::SafeTensors file = ingot::io::load_safetensors(path);
  if (file["x"].to_vector<float>()[5] != 5 || file.metadata.at("by") != "a stranger") return 1;
  ingot::io::save_png(path, ingot::full({4, 4}, 7, ingot::kU8));
  if (ingot::io::load_png(path).at<uint8_t>({3, 3}) != 7) return 1;
  try {
    ingot::io::load_npz(path);
  } catch (const ingot::Error& error) {
    std::printf("refused: %s\n", error.what());
    return 0;
  }
  return 1;
}
