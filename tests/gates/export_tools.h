// A folder for exports, and the tools that read them.
#pragma once
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "ingot/gates/circuit_io.h"
#include "ingot/io/io.h"
#include "tests/gates/export_samples.h"

namespace ingot::gates {

inline constexpr int64_t kWords = 15'625;  // 64 assignments each: a million

inline std::vector<uint64_t> random_words(size_t n, std::mt19937_64& random) {
  std::vector<uint64_t> words(n);
  for (uint64_t& w : words) w = random();
  return words;
}

// A circuit with everything: all functions, constants and copies, outputs that are inputs.
inline Circuit motley_circuit() {
  Circuit c = random_circuit(9, 60, 3, 1);
  c.outputs.insert(c.outputs.end(), {0, 8, 0});
  c.gates.push_back({Function::kTrue, 0, 0});
  c.gates.push_back({Function::kFalse, 0, 0});
  c.gates.push_back({Function::kNotB, 0, 3});
  for (uint32_t k = 1; k <= 3; k++) c.outputs.push_back(c.signals() - k);
  for (int f = 0; f < kFunctions; f++) {
    c.gates.push_back({static_cast<Function>(f), 1, 2});
    c.outputs.push_back(c.signals() - 1);
  }
  return c;
}

class Exports : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string pattern = ::testing::TempDir() + "exports.XXXXXX";
    std::vector<char> name(pattern.begin(), pattern.end());
    name.push_back('\0');
    folder_ = std::string(mkdtemp(name.data())) + "/";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string file(const std::string& name, const std::string& text) const {
    io::write_file(folder_ + name, text);
    return folder_ + name;
  }
  // What a command says; its exit code must be 0.
  std::string run(const std::string& command) const {
    const int code = std::system(("cd " + folder_ + " && (" + command + ") >said.txt 2>&1").c_str());
    std::string said = io::read_file(folder_ + "said.txt");
    EXPECT_EQ(code, 0) << command << "\n" << said;
    return said;
  }
  void* compiled(const std::string& name, const Circuit& c) const {
    file(name + ".c", to_c(c));
    run("cc -std=c99 -pedantic -Wall -Wextra -Werror -O1 -shared -fPIC " + name + ".c -o " + name + ".so");
    void* library = dlopen((folder_ + name + ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
    EXPECT_NE(library, nullptr) << dlerror();
    return library;
  }
  // That ABC proves two files equal; inputs and outputs are matched by name, or (-n) by order.
  void expect_equal(const std::string& first, const std::string& second, const std::string& how = "") const {
    const std::string said = run("berkeley-abc -c 'cec " + how + " " + first + " " + second + "'");
    EXPECT_NE(said.find("Networks are equivalent"), std::string::npos) << first << " " << second << "\n" << said;
  }

  // That the C function computes what the circuit does.
  void expect_c_equals(const Circuit& c, const std::string& symbol, int64_t rounds) const {
    void* library = compiled(symbol, c);
    const auto logic = reinterpret_cast<void (*)(const uint64_t*, uint64_t*)>(dlsym(library, symbol.c_str()));
    ASSERT_NE(logic, nullptr) << dlerror();
    std::mt19937_64 random(5);
    for (int64_t w = 0; w < rounds; w++) {
      const std::vector<uint64_t> in = random_words(c.inputs, random);
      std::vector<uint64_t> out(c.outputs.size());
      logic(in.data(), out.data());
      ASSERT_EQ(out, evaluate_words(c, in));
    }
    dlclose(library);
  }
  // What the test bench says.
  std::string simulated(const Circuit& c, const std::string& bench) const {
    file("design.v", to_verilog(c));
    file("test.v", bench);
    return run("iverilog -g2001 -o design design.v test.v && vvp -n design");
  }

  std::string folder_;
};

}  // namespace ingot::gates
