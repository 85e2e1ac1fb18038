// A process that saves all the time, killed at random moments: the file is always whole, and the next process goes on.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <set>

#include "ingot/io/io.h"
#include "ingot/ops/ops.h"
#include "temporary.h"

namespace ingot::io {
namespace {

TEST(KilledWriter, LeavesAWholeFile) {
  TemporaryFolder folder;
  const std::string path = folder / "checkpoint.safetensors";
  // Each saved state says in its metadata what all its elements must be.
  std::vector<std::vector<NamedTensor>> states(3);
  for (size_t i = 0; i < 3; i++) {
    const double value = static_cast<double>(i);
    states[i] = {{"w", full({1 << 16}, value)}, {"v", full({1000 + static_cast<int64_t>(i)}, value)}};
  }
  save_safetensors(path, states[0], {{"state", "0"}});
  std::set<std::string> seen;
  uint32_t random = 1;
  for (int i = 0; i < 200; i++) {
    const pid_t child = fork();
    if (child == 0) {
      for (size_t k = 1;; k = (k + 1) % 3) save_safetensors(path, states[k], {{"state", std::to_string(k)}});
    }
    random = random * 1664525u + 1013904223u;
    usleep(random >> 17);  // up to 33 ms
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    const SafeTensors file = load_safetensors(path);
    const std::string state = file.metadata.at("state");
    seen.insert(state);
    for (const NamedTensor& each : file.tensors)
      for (const float element : each.tensor.to_vector<float>()) ASSERT_EQ(element, std::stof(state)) << i;
    EXPECT_LE(folder.list().size(), 2u) << i;  // leftovers do not pile up
  }
  EXPECT_GT(seen.size(), 1u);  // some got through
  save_safetensors(path, states[2], {{"state", "2"}});
  EXPECT_EQ(folder.list().size(), 1u);
}

}  // namespace
}  // namespace ingot::io
