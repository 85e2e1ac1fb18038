#include "ingot/recipe/run_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "ingot/base/error.h"
#include "ingot/io/io.h"
#include "ingot/recipe/progress.h"

namespace ingot::recipe {
namespace {

namespace fs = std::filesystem;

std::string numbered(const std::string& name, int number) {
  return fmt::format("runs/{}{}", name, number == 1 ? "" : fmt::format("-{}", number));
}

void make_folder(const std::string& path) {
  std::error_code problem;
  fs::create_directories(path, problem);
  if (problem)
    throw Error(ErrorKind::kFile, fmt::format("train: the folder \"{}\" cannot be made: {} — name another with --out",
                                              path, problem.message()));
}

void append_line(const std::string& path, const std::string& line) {
  std::FILE* file = std::fopen(path.c_str(), "ab");
  const bool written = file != nullptr && std::fwrite(line.data(), 1, line.size(), file) == line.size();
  const int problem = errno;
  const bool closed = file != nullptr && std::fclose(file) == 0;
  if (!written || !closed)
    throw Error(ErrorKind::kFile,
                fmt::format("train: \"{}\" cannot be written: {}", path, std::strerror(written ? errno : problem)));
}

std::string scores_csv(const nn::Scores& s, bool there, size_t metrics) {
  std::string out = "," + (there && !std::isnan(s.loss) ? fmt::format("{}", s.loss) : "");
  for (size_t i = 0; i < metrics; i++)
    out += "," + (there && i < s.metrics.size() ? fmt::format("{}", s.metrics[i]) : "");
  return out;
}

// The lines of a text that end and whose epoch, found by `epoch_of`, is at most `last`.
template <class EpochOf>
std::string lines_up_to(const std::string& text, int64_t last, EpochOf epoch_of) {
  std::string kept;
  for (size_t begin = 0, end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
    const std::string line = text.substr(begin, end - begin);
    if (epoch_of(line) <= last) kept += line + "\n";
  }
  return kept;
}

// The epoch of a line of metrics.jsonl; a very large one if it has none.
int64_t epoch_in(const std::string& line) {
  const std::vector<Value> found = parse_json_lines(line + "\n");
  const Value* epoch = found.empty() ? nullptr : found[0].find("epoch");
  return epoch != nullptr && epoch->type == Value::Type::kInteger ? epoch->integer : INT64_MAX;
}

// What cannot be looked at (a name that is too long, a folder of somebody else's) is not there for us.
bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

}  // namespace

bool is_file(const std::string& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}
bool is_run(const std::string& folder) { return is_there(fs::path(folder) / "config.toml"); }

RunFolder RunFolder::create(const std::string& out, const std::string& name) {
  std::string path = out;
  if (!out.empty() && is_run(out))
    throw Error(
        fmt::format("train: \"{}\" holds a run already — add --resume to go on with it, or name another folder", out));
  for (const char* file : {"model.safetensors", "checkpoint.safetensors", "metrics.csv", "report.html"})
    if (!out.empty() && is_there(fs::path(out) / file))
      throw Error(fmt::format(
          "train: \"{}\" is no run, but has a {}, which this one would replace — name another folder", out, file));
  for (int number = 1; path.empty(); number++)
    if (!is_there(numbered(name, number))) path = numbered(name, number);
  make_folder(path);
  return RunFolder(path);
}

RunFolder RunFolder::existing(const std::string& path) {
  if (!is_run(path))
    throw Error(ErrorKind::kFile,
                fmt::format("train: there is no run in \"{}\" to go on with — leave --resume out", path));
  return RunFolder(path);
}

std::string last_run(const std::string& name) {
  int number = 1;
  while (is_there(numbered(name, number + 1))) number++;
  return numbered(name, number);
}

RunFolder::RunFolder(std::string path) : path_(std::move(path)) {
  lock_ =
      std::shared_ptr<const int>(new int(open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)), [](const int* file) {
        if (*file >= 0) close(*file);
        delete file;
      });
  if (*lock_ >= 0 && flock(*lock_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    throw Error(ErrorKind::kFile,
                fmt::format("train: another process is at work on the run in \"{}\" — wait for it, or stop it", path_));
}

bool RunFolder::has(const std::string& name) const { return is_there(file(name)); }

void RunFolder::add_metrics(const nn::EpochResult& e, const std::vector<std::string>& metrics) {
  append_line(file("metrics.jsonl"), to_json(epoch_record(e, metrics)) + "\n");
  std::string csv;
  if (!has("metrics.csv")) {
    csv = "epoch";
    for (const char* part : {"train", "test"}) {
      csv += fmt::format(",{}_loss", part);
      for (const std::string& m : metrics) csv += fmt::format(",{}_{}", part, m);
    }
    csv += ",best,lr,seconds,samples_per_second\n";
  }
  csv += std::to_string(e.epoch) + scores_csv(e.train, true, metrics.size()) +
         scores_csv(e.test, e.tested, metrics.size());
  csv += fmt::format(",{},{},{},{}\n", e.best ? 1 : 0, e.lr, e.seconds, e.samples_per_second);
  append_line(file("metrics.csv"), csv);
}

void RunFolder::keep_metrics(int64_t epoch) {
  if (has("metrics.jsonl"))
    io::write_file(file("metrics.jsonl"), lines_up_to(io::read_file(file("metrics.jsonl")), epoch, epoch_in));
  if (has("metrics.csv"))
    io::write_file(file("metrics.csv"),
                   lines_up_to(io::read_file(file("metrics.csv")), epoch, [](const std::string& line) {
                     return line.starts_with("epoch") ? 0 : std::strtoll(line.c_str(), nullptr, 10);
                   }));
}

void RunFolder::remove(const std::string& name) const {
  std::error_code problem;
  fs::remove(file(name), problem);
  if (problem)
    throw Error(ErrorKind::kFile, fmt::format("train: \"{}\" cannot be removed: {}", file(name), problem.message()));
}

void RunFolder::forget_checkpoint() const {
  for (const char* name : {"checkpoint.safetensors", "best.safetensors"}) remove(name);
}

}  // namespace ingot::recipe
