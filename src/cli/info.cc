// `ingot info`: what is in a file or a run's folder.
#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/page.h"
#include "cli/run_folder.h"
#include "cli/terminal.h"
#include "ingot/error.h"
#include "ingot/io.h"
#include "ingot/memory.h"

namespace ingot::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

struct Contents {
  std::string format;
  std::vector<io::TensorInfo> tensors;
  io::Metadata metadata;
};

io::TensorInfo info_of(const NamedTensor& t) {
  return {t.name, t.tensor.dtype(), t.tensor.shape(), 0,
          static_cast<uint64_t>(t.tensor.numel()) * size_of(t.tensor.dtype())};
}

Contents read(const std::string& path) {
  if (path.ends_with(".npy")) return {"npy array", {info_of({"", io::map_npy(path)})}, {}};
  if (path.ends_with(".npz")) {
    Contents out{"npz archive", {}, {}};
    for (const NamedTensor& t : io::load_npz(path)) out.tensors.push_back(info_of(t));
    return out;
  }
  const io::SafeTensorsInfo file = io::safetensors_info(path);
  const bool model = file.metadata.count("ingot.description") != 0;
  const bool checkpoint = model && path.find("checkpoint") != std::string::npos;
  return {checkpoint ? "checkpoint of a run" : model ? "model" : "safetensors", file.tensors, file.metadata};
}

Json as_json(const std::string& path, const Contents& c) {
  Json out = {{"file", path}, {"format", c.format}, {"metadata", c.metadata}, {"tensors", Json::array()}};
  for (const io::TensorInfo& t : c.tensors)
    out["tensors"].push_back({{"name", t.name},
                              {"dtype", name(t.dtype)},
                              {"shape", std::vector<int64_t>(t.shape.begin(), t.shape.end())},
                              {"bytes", t.bytes}});
  return out;
}

void print(const std::string& path, const Contents& c) {
  uint64_t bytes = 0;
  int64_t elements = 0;
  size_t width = 4;
  for (const io::TensorInfo& t : c.tensors) {
    bytes += t.bytes, elements += element_count(t.shape);
    width = std::max(width, t.name.size());
  }
  fmt::print("{}: {}, {} tensor{}, {} numbers, {}\n", bold(path), c.format, c.tensors.size(),
             c.tensors.size() == 1 ? "" : "s", grouped(elements), format_bytes(bytes));
  for (const io::TensorInfo& t : c.tensors)
    fmt::print("  {:<{}}  {:<5} {:<20} {:>10}\n", printable(t.name), width, name(t.dtype), to_string(t.shape),
               format_bytes(t.bytes));
  for (const auto& [key, value] : c.metadata) {
    const bool shown = value.find('\n') == std::string::npos && value.size() < 100;
    if (shown) fmt::print("  {} = {}\n", printable(key), printable(value));
  }
  if (const auto text = c.metadata.find("ingot.description"); text != c.metadata.end())
    fmt::print("\n{}", printable_lines(text->second));
}

int run_info(const std::string& folder, bool json) {
  Json out = {{"folder", folder}, {"files", Json::array()}};
  if (!json) fmt::print("{}: a run\n", bold(folder));
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.is_regular_file()) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  for (const fs::path& file : files) {
    const uint64_t bytes = fs::file_size(file);
    out["files"].push_back({{"name", file.filename().string()}, {"bytes", bytes}});
    if (!json) fmt::print("  {:<36} {:>10}\n", file.filename().string(), format_bytes(bytes));
  }
  const std::string metrics = folder + "/metrics.jsonl";
  std::string last;
  int64_t epochs = 0;
  if (is_file(metrics)) {
    const std::string text = io::read_file(metrics);
    for (size_t begin = 0, end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1)
      last = text.substr(begin, end - begin), epochs++;
  }
  out["epochs"] = epochs;
  if (!last.empty()) out["last"] = Json::parse(last, nullptr, false);
  if (json) return fmt::print("{}\n", out.dump(2)), 0;
  fmt::print("\n{} epochs{}{}\n", epochs, last.empty() ? "" : "; the last: ", printable(last));
  if (!is_file(folder + "/model.safetensors"))
    fmt::print("not finished: ingot train {} --resume\n", folder);
  else if (is_file(folder + "/circuit-simple.json"))
    fmt::print("finished: ingot eval {0}, ingot ca view {0}, ingot circuit info {0}/circuit-simple.json\n", folder);
  else
    fmt::print("finished: ingot eval {0}, ingot predict {0} …\n", folder);
  return 0;
}

}  // namespace

int info(const std::string& path, bool json) {
  if (!fs::exists(path)) throw Error(fmt::format("info: there is no \"{}\"", path));
  if (is_run(path)) return run_info(path, json);
  if (fs::is_directory(path))
    throw Error(fmt::format("info: \"{}\" is a folder, but not of a run (no config.toml)", path));
  const Contents contents = read(path);
  if (json)
    fmt::print("{}\n", as_json(path, contents).dump(2));
  else
    print(path, contents);
  return 0;
}

}  // namespace ingot::cli
