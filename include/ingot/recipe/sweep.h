// Sweeps: the same recipe with every combination of some keys' values, and a table of what they came to, best first.
//
//   const auto axes = {recipe::sweep_axis("optimizer.lr=0.001,0.0003"), recipe::sweep_axis("train.batch=32,64")};
//   recipe::run_sweep(Recipe::load("digits"), axes, /*seeds=*/3, "", progress);
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ingot/base/export.h"
#include "ingot/recipe/recipe.h"
#include "ingot/recipe/seeds.h"

namespace ingot::recipe {

/// A key and the values that it takes.
struct SweepAxis {
  std::string key;
  std::vector<std::string> values;
};
/// "optimizer.lr=0.001,0.0003": commas in brackets or quotes belong to a value ("model.sizes=[64, 64],[128]").
INGOT_API SweepAxis sweep_axis(const std::string& text);

/// One combination and what came of it.
struct SweepRow {
  std::vector<std::string> values = {};  // in the order of the axes
  std::string folder = {};
  std::vector<double> scores = {};  // seed by seed; none if a run failed
  double score = 0;                 // their interquartile mean
  double seconds = 0;               // of training, all seeds
  std::string failure = {};         // why a run failed
};

struct INGOT_API Sweep {
  Outcome outcome = Outcome::kDone;  // kCancelled: rows are those that were finished
  std::string folder;
  std::vector<std::string> keys = {};
  std::vector<SweepRow> rows = {};  // best first; those that failed last
  std::string table() const;        // as text
};

/// Trains every combination, each with `seeds` seeds, into folders of their own under `folder` (empty: runs/NAME-sweep).
/// All of them are checked before the first one begins; one whose numbers are lost while it trains is a row that says so.
/// sweep.csv, sweep.json and report.html there have the table. Scores are what Run::score() is.
INGOT_API Sweep run_sweep(const Recipe& recipe, std::span<const SweepAxis> axes, int64_t seeds,
                          const std::string& folder, Progress& progress, const RunOptions& options = {});

}  // namespace ingot::recipe
