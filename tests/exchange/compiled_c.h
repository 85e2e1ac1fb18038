// Plans as C, compiled by other people's compilers and called.
#pragma once
#include <string>
#include <vector>

#include "ingot/exchange/c_source.h"
#include "ingot/graph/plan.h"

namespace ingot::exchange {

/// Runs a command in a shell; its exit code, and what it said.
int run_command(const std::string& command, std::string* said);
bool has_program(const std::string& name);

/// A folder of C files that goes when it goes.
class CFolder {
 public:
  CFolder();
  ~CFolder();
  CFolder(const CFolder&) = delete;
  CFolder& operator=(const CFolder&) = delete;
  const std::string& path() const { return path_; }
  /// Adds a plan, and NAME_call(inputs, outputs), which calls it with pointers to all of them. Inputs and outputs are
  /// told by the plan.
  void add(const CSource& c, const Plan& plan);
  /// Adds a plan and a text that calls it; SLABS in it becomes the addresses of the memory that it is bound to.
  void add_text(const std::string& file, std::string text, const CSource& c, const Plan& plan);
  /// Compiles all that was added with `compiler` and its options; "" or what it said.
  std::string compile(const std::string& compiler);
  /// The same without making anything: warnings count as errors.
  std::string check(const std::string& compiler) const;
  /// Calls a plan that was compiled; its results.
  std::vector<Tensor> call(const CSource& c, const Plan& plan, std::vector<const Tensor*> inputs,
                           int* status = nullptr) const;
  /// A symbol of what was compiled.
  void* symbol(const std::string& name) const;

 private:
  std::string path_, files_;
  void* library_ = nullptr;
};

}  // namespace ingot::exchange
