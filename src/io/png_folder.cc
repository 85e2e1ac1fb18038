// A folder of classes, each a folder of pictures.
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "ingot/base/error.h"
#include "ingot/io/io.h"
#include "io/source.h"

namespace ingot::io {
namespace fs = std::filesystem;
namespace {

// What is in a folder, sorted, so that the order of samples does not depend on the file system.
template <class Wanted>
std::vector<fs::path> sorted(const fs::path& folder, Wanted wanted) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    if (!it->path().filename().string().starts_with('.') && wanted(*it)) found.push_back(it->path());
  if (error) throw Error(ErrorKind::kFile, "load_png_folder: " + folder.string() + ": " + error.message());
  std::sort(found.begin(), found.end());
  return found;
}

bool is_png(const fs::directory_entry& entry) {
  std::string extension = entry.path().extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return extension == ".png" && entry.is_regular_file();
}

}  // namespace

PictureFolder load_png_folder(const std::string& folder, const UnpackLimits& limits) {
  PictureFolder result;
  std::vector<std::pair<fs::path, int64_t>> files;
  for (const fs::path& each : sorted(folder, [](const fs::directory_entry& entry) { return entry.is_directory(); })) {
    const std::vector<fs::path> pictures = sorted(each, is_png);
    if (pictures.empty())
      throw Error(ErrorKind::kFile, "load_png_folder: " + each.string() + " has no .png files — remove it, or fill it");
    for (const fs::path& picture : pictures) files.emplace_back(picture, static_cast<int64_t>(result.classes.size()));
    result.classes.push_back(each.filename().string());
  }
  if (files.empty())
    throw Error(ErrorKind::kFile,
                "load_png_folder: " + folder + " has no subfolders — pictures lie in " + folder + "/CLASS/NAME.png");

  const int64_t n = static_cast<int64_t>(files.size());
  result.y = Tensor::empty({n}, kI64);
  Dims shape;
  for (int64_t i = 0; i < n; i++) {
    const auto& [path, label] = files[static_cast<size_t>(i)];
    const Tensor picture = load_png(path.string(), limits);
    if (i == 0) {
      shape = picture.shape();
      Dims all = shape;
      if (shape.size() == 2) all.insert(0, 1);
      all.insert(0, n);
      result.x = Tensor::empty(all, kU8);
    }
    if (picture.shape() != shape)
      throw Error(ErrorKind::kFile, "load_png_folder: " + path.string() + " is " + to_string(picture.shape()) +
                                        ", but " + files[0].first.string() + " is " + to_string(shape) +
                                        " — all pictures must have one size");
    std::memcpy(result.x.data<uint8_t>() + i * picture.numel(), picture.raw(), static_cast<size_t>(picture.numel()));
    result.y.data<int64_t>()[i] = label;
  }
  return result;
}

}  // namespace ingot::io
