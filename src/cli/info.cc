// `ingot info`: what is in a file or a run's folder.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "cli/commands.h"
#include "ingot/base/error.h"
#include "ingot/base/memory.h"
#include "ingot/io/io.h"
#include "ingot/recipe/page.h"
#include "ingot/recipe/run_folder.h"
#include "ingot/recipe/terminal.h"

namespace ingot::cli {
namespace {

namespace fs = std::filesystem;
using namespace recipe;

struct Contents {
  std::string format;
  std::vector<io::TensorInfo> tensors;
  io::Metadata metadata;
};

io::TensorInfo info_of(const NamedTensor& t) {
  return {t.name, t.tensor.dtype(), t.tensor.shape(), 0,
          static_cast<uint64_t>(t.tensor.numel()) * size_of(t.tensor.dtype())};
}

Contents table_contents(const std::string& path) {
  const io::Csv table = io::load_csv(path);
  Contents out{"table, columns separated by " + in_quotes(std::string_view(&table.separator, 1)),
               {info_of({"", table.values})},
               {}};
  if (table.separator == '\t') out.format = "table, columns separated by tabs";
  for (size_t i = 0; i < table.columns.size(); i++)
    out.metadata["column " + padded(std::to_string(i), 3, true)] = table.columns[i];
  return out;
}

Contents picture_contents(const std::string& path) {
  const io::PngInfo p = io::png_info(path);
  const Dims shape = p.channels == 1 ? Dims{p.height, p.width} : Dims{p.channels, p.height, p.width};
  return {"PNG picture", {{"", kU8, shape, 0, static_cast<uint64_t>(element_count(shape))}}, {}};
}

Contents read(const std::string& path) {
  if (path.ends_with(".csv") || path.ends_with(".csv.gz")) return table_contents(path);
  if (path.ends_with(".png")) return picture_contents(path);
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

Value as_record(const std::string& path, const Contents& c) {
  Value metadata, tensors = empty_list();
  for (const auto& [key, value] : c.metadata) metadata.set(key, value);
  for (const io::TensorInfo& t : c.tensors)
    tensors.add(record({{"name", t.name},
                        {"dtype", name(t.dtype)},
                        {"shape", std::vector<int64_t>(t.shape.begin(), t.shape.end())},
                        {"bytes", t.bytes}}));
  return record({{"file", path}, {"format", c.format}, {"metadata", metadata}, {"tensors", tensors}});
}

void print(const std::string& path, const Contents& c) {
  uint64_t bytes = 0;
  int64_t elements = 0;
  size_t width = 4;
  for (const io::TensorInfo& t : c.tensors) {
    bytes += t.bytes, elements += element_count(t.shape);
    width = std::max(width, t.name.size());
  }
  fmt::print("{}: {}, {} tensor{}, {} numbers, {}\n", bold(printable(path)), c.format, c.tensors.size(),
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

// The lines of a run's metrics: how many, and the last.
struct Lines {
  int64_t count = 0;
  std::string last;
};
Lines metrics_of(const std::string& folder) {
  Lines out;
  const std::string path = folder + "/metrics.jsonl", text = is_file(path) ? io::read_file(path) : "";
  for (size_t begin = 0, end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1)
    out.last = text.substr(begin, end - begin), out.count++;
  return out;
}

// A run at work replaces its files: one that is gone by now has no bytes.
uint64_t size_of_file(const fs::path& file) {
  std::error_code gone;
  const uintmax_t bytes = fs::file_size(file, gone);
  return gone ? 0 : bytes;
}

int run_info(const std::string& folder, bool json, const Systems& systems) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.is_regular_file()) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  const Lines metrics = metrics_of(folder);
  if (json) {
    Value list = empty_list();
    for (const fs::path& file : files)
      list.add(record({{"name", file.filename().string()}, {"bytes", size_of_file(file)}}));
    Value out = record({{"folder", folder}, {"files", list}, {"epochs", metrics.count}});
    if (const std::vector<Value> last = parse_json_lines(metrics.last + "\n"); !last.empty()) out.set("last", last[0]);
    return fmt::print("{}\n", to_json(out, 2)), 0;
  }
  const std::string shown = printable(folder);
  fmt::print("{}: a run\n", bold(shown));
  for (const fs::path& file : files)
    fmt::print("  {:<36} {:>10}\n", printable(file.filename().string()), format_bytes(size_of_file(file)));
  fmt::print("\n{} epochs{}{}\n", metrics.count, metrics.last.empty() ? "" : "; the last: ", printable(metrics.last));
  if (!is_file(folder + "/model.safetensors")) return fmt::print("not finished: ingot train {} --resume\n", shown), 0;
  std::string more = fmt::format("ingot predict {} …", shown);
  for (const System* system : systems)
    if (system->next_steps != nullptr)
      if (const std::string own = system->next_steps(folder); !own.empty()) more = printable(own);
  fmt::print("finished: ingot eval {}, {}\n", shown, more);
  return 0;
}

int info(const std::string& path, bool json, const Systems& systems) {
  std::error_code unknown;
  if (!fs::exists(path, unknown)) throw Error(ErrorKind::kFile, fmt::format("info: there is no \"{}\"", path));
  if (is_run(path)) return run_info(path, json, systems);
  if (fs::is_directory(path))
    throw Error(ErrorKind::kFile, fmt::format("info: \"{}\" is a folder, but not of a run (no config.toml)", path));
#ifdef INGOT_WITH_EXCHANGE
  if (path.ends_with(".onnx")) return onnx_info(path, json);
#endif
  const Contents contents = read(path);
  if (json)
    fmt::print("{}\n", to_json(as_record(path, contents), 2));
  else
    print(path, contents);
  return 0;
}

}  // namespace

Command info_command(const Systems& systems) {
  auto path = std::make_shared<std::string>();
  auto json = std::make_shared<bool>(false);
  return {.name = "info",
          .about = "What is in a model, a checkpoint, an array, a table, a picture or a run's folder",
          .options = {{.name = "FILE",
                       .target = path.get(),
                       .about = "a .safetensors, .npy, .npz, .csv, .png or .onnx file, or a run's folder",
                       .required = true},
                      {"--json", json.get(), "print JSON"}},
          .run = [=] { return info(*path, *json, systems); },
          .footer = fixed_text("For instance:\n  ingot info runs/digits\n  ingot info runs/digits/model.safetensors")};
}

}  // namespace ingot::cli
