// The folder of a run: its description, metrics, checkpoint, weights and report. Every file in it is whole at any
// moment.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "ingot/base/export.h"
#include "ingot/nn/trainer.h"

namespace ingot::recipe {

/// While it lives, no other process has this run.
class INGOT_API RunFolder {
 public:
  /// A new folder: `out` if it is given (it must not hold a run yet), else runs/NAME, or runs/NAME-2, ….
  static RunFolder create(const std::string& out, const std::string& name);
  /// The folder of a run to go on with. An Error if there is none.
  static RunFolder existing(const std::string& path);

  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  bool has(const std::string& name) const;

  /// Adds a line to metrics.jsonl and to metrics.csv.
  void add_metrics(const nn::EpochResult& e, const std::vector<std::string>& metrics);
  /// Leaves the lines of epochs up to `epoch` and drops the rest, also what a killed process left half written.
  void keep_metrics(int64_t epoch);

  /// Takes away what would be gone on with: training begins anew in the same folder.
  void forget_checkpoint() const;

 private:
  explicit RunFolder(std::string path);
  std::string path_;
  std::shared_ptr<const int> lock_;
};

/// The last of runs/NAME, runs/NAME-2, ….
INGOT_API std::string last_run(const std::string& name);
/// Is there such a file; is there a run in this folder?
INGOT_API bool is_file(const std::string& path);
INGOT_API bool is_run(const std::string& folder);

}  // namespace ingot::recipe
