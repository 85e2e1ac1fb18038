// Files appear whole or not at all, whatever fails.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cerrno>

#include "base/os/file.h"
#include "ingot/base/error.h"
#include "ingot/io/io.h"
#include "ingot/ops/ops.h"
#include "temporary.h"
#include "tests/error_of.h"

namespace ingot::io {
namespace {

TEST(AtomicFile, WritesAndReplaces) {
  TemporaryFolder folder;
  const std::string path = folder / "a.txt";
  write_file(path, "one");
  EXPECT_EQ(contents(path), "one");
  write_file(path, "second");
  EXPECT_EQ(contents(path), "second");
  EXPECT_EQ(read_file(path), "second");
  write_file(path, "");
  EXPECT_EQ(contents(path), "");
  EXPECT_EQ(folder.list(), std::vector<std::string>{"a.txt"});
}

TEST(AtomicFile, IsInvisibleUntilCommitted) {
  TemporaryFolder folder;
  const std::string path = folder / "a.txt";
  write_file(path, "old");
  {
    AtomicFile file(path);
    file.write("half of the new");
    EXPECT_EQ(contents(path), "old");
    EXPECT_NE(error_of([&] { AtomicFile second(path); }).find("another writer is at work"), std::string::npos);
  }
  EXPECT_EQ(contents(path), "old");
  EXPECT_EQ(folder.list().size(), 1u);
  AtomicFile file(path);
  file.commit();
  EXPECT_NE(error_of([&] { file.write("more"); }).find("is finished"), std::string::npos);
  EXPECT_NE(error_of([&] { file.commit(); }).find("is finished"), std::string::npos);
}

TEST(AtomicFile, TakesOverWhatAKilledWriterLeft) {
  TemporaryFolder folder;
  const std::string path = folder / "a.txt";
  write_file(path, "old");
  const pid_t child = fork();
  if (child == 0) {
    AtomicFile file(path);
    file.write("a long text that never becomes complete");
    raise(SIGKILL);
  }
  waitpid(child, nullptr, 0);
  EXPECT_EQ(contents(path), "old");
  EXPECT_EQ(folder.list().size(), 2u);  // the temporary stayed
  write_file(path, "new");
  EXPECT_EQ(contents(path), "new");
  EXPECT_EQ(folder.list().size(), 1u);
}

TEST(AtomicFile, KeepsModesAndLinks) {
  TemporaryFolder folder;
  const std::string path = folder / "a.txt", link = folder / "link";
  write_file(path, "old");
  chmod(path.c_str(), 0600);
  std::filesystem::create_symlink("a.txt", link);
  write_file(link, "new");
  EXPECT_EQ(contents(path), "new");
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  struct stat status = {};
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

// Each call in turn fails: an Error, the old file as it was, nothing left behind.
struct Failing {
  static inline int calls, fail_at;
  static inline bool short_writes;
  static bool now() { return calls++ == fail_at; }
  static ssize_t write(int file, const void* bytes, size_t count) {
    if (now()) {
      errno = ENOSPC;
      return -1;
    }
    return ::write(file, bytes, short_writes ? std::min<size_t>(count, 7) : count);
  }
  static int sync(int file) {
    if (now()) {
      errno = EIO;
      return -1;
    }
    return ::fsync(file);
  }
  static int rename(const char* from, const char* to) {
    if (now()) {
      errno = EACCES;
      return -1;
    }
    return ::rename(from, to);
  }
  explicit Failing(int at) {
    calls = 0, fail_at = at;
    os::system_calls = {write, sync, rename};
  }
  ~Failing() { os::system_calls = {::write, ::fsync, ::rename}; }
};

TEST(AtomicFile, EveryCallMayFail) {
  TemporaryFolder folder;
  const std::string path = folder / "model.safetensors";
  const std::vector<NamedTensor> old = {{"w", full({3}, 1.0)}},
                                 next = {{"w", full({5, 7}, 2.0)}, {"b", full({9}, 3.0)}};
  for (bool short_writes : {false, true}) {
    Failing::short_writes = short_writes;
    int at = 0;
    for (bool failed = true; failed; at++) {
      save_safetensors(path, old);
      const std::string before = contents(path);
      std::string error;
      bool in_place = false;
      {
        Failing failing(at);
        error = error_of([&] { save_safetensors(path, next); });
        failed = error != "no error";
        in_place = !failed || error.find("the new file is in place") != std::string::npos;
      }
      EXPECT_EQ(folder.list(), std::vector<std::string>{"model.safetensors"}) << at;
      if (in_place) {
        EXPECT_EQ(load_safetensors(path).tensors.size(), 2u) << at << " " << error;
      } else {
        EXPECT_EQ(contents(path), before) << at << " " << error;
        EXPECT_NE(error.find("(the old file is unchanged)"), std::string::npos) << error;
        EXPECT_NE(error.find(path), std::string::npos) << error;
      }
    }
    EXPECT_GT(at, short_writes ? 20 : 6);  // so many calls there were, and each failed once
  }
}

TEST(AtomicFile, SaysWhatToDoWhenTheDiskIsFull) {
  const std::string error = error_of([] { write_file("/dev/full", "text"); });
  EXPECT_NE(error.find("/dev/full: No space left on device"), std::string::npos) << error;
  EXPECT_NE(error.find("— free some space"), std::string::npos) << error;
}

TEST(AtomicFile, StopsAtTheLimitOnFileSizes) {
  TemporaryFolder folder;
  const std::string path = folder / "big";
  write_file(path, "old");
  // In a child, because a limit on files would meet the test's own output as well.
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{4096, 4096};
    setrlimit(RLIMIT_FSIZE, &limit);
    const std::string error = error_of([&] { write_file(path, std::string(10000, 'x')); });
    _exit(error.find("File too large (the old file is unchanged) — raise the limit") != std::string::npos ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_EQ(contents(path), "old");
  EXPECT_EQ(folder.list().size(), 1u);
}

TEST(AtomicFile, RefusesWhereNothingCanBeWritten) {
  TemporaryFolder folder;
  EXPECT_NE(error_of([&] { write_file(folder / "no/such/folder", ""); }).find("— make the folder first"),
            std::string::npos);
  EXPECT_NE(error_of([&] { write_file(folder.path().string(), ""); }).find("Is a directory"), std::string::npos);
  EXPECT_NE(error_of([&] { write_file("", ""); }).find("no file name"), std::string::npos);
  EXPECT_NE(error_of([&] { read_file(folder / "nothing"); }).find("No such file"), std::string::npos);
  EXPECT_NE(error_of([&] { read_file(folder.path().string()); }).find("it is a folder"), std::string::npos);
  EXPECT_NE(error_of([&] { read_file("/dev/zero"); }).find("not a regular file"), std::string::npos);
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_NE(error_of([&] { read_file(folder / "pipe"); }).find("not a regular file"), std::string::npos);
}

}  // namespace
}  // namespace ingot::io
