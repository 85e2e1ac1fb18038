// The report of a run: one self-contained HTML page (no network, no scripts from elsewhere) made of what is filled in
// here. A section appears only if its data is there, so every recipe and every model shares this page.
//
//   recipe::Report report{.title = "digits", .metrics = {nn::accuracy_metric()}, .epochs = trainer.history()};
//   io::write_file(path, report.html());
#pragma once
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "ingot/base/export.h"
#include "ingot/base/tensor.h"
#include "ingot/graph/plan.h"
#include "ingot/nn/trainer.h"

namespace ingot::recipe {

/// A figure with its name: {"98.6 %", "accuracy on 360 held-out pictures"}.
struct ReportFact {
  std::string value, label;
};

/// Columns of text; those that hold numbers throughout are set to the right.
struct ReportTable {
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;
};

/// How often samples of a class were taken for another: counts[truth * n + prediction], for n classes.
struct ReportConfusion {
  std::vector<std::string> classes;
  std::vector<int64_t> counts;
};

/// A sample and what the model made of it. Pixels are [h, w], [1, h, w] or [3, h, w], u8 or floats between 0 and 1.
struct ReportPicture {
  Tensor pixels;
  std::string target, prediction;
  double probability = std::numeric_limits<double>::quiet_NaN();  // of the prediction
  bool correct = true;
};

/// What went into an autoencoder, and what came out.
struct ReportReconstruction {
  Tensor input, output;
  std::string label = {};
};

/// What a language model wrote at some point of its training.
struct ReportText {
  std::string when;  // "epoch 3, loss 1.62"
  std::string text;
};

/// Predicted against true numbers of one target column.
struct ReportScatter {
  std::string name;
  std::vector<double> truth, prediction;
};

struct INGOT_API Report {
  std::string title;          // the recipe, or the model's file
  std::string subtitle = {};  // a sentence: what was trained, on what
  std::string status = {};    // empty, or why this is not the end of the run: "interrupted after epoch 7"
  std::string command = {};   // what to type to repeat it
  std::string date = {};      // as text; the page does not look at the clock

  /// The large figures at the top. Empty: the best score, the time and the throughput, taken from the epochs.
  std::vector<ReportFact> verdict = {};

  /// Names and directions of the scores in `epochs`; the first decides which epoch is best.
  std::vector<nn::Metric> metrics = {};
  std::vector<nn::EpochResult> epochs = {};
  std::string loss_name = "loss";

  ReportConfusion confusion = {};
  std::vector<ReportPicture> pictures = {};
  std::vector<ReportReconstruction> reconstructions = {};
  std::vector<ReportText> texts = {};
  std::vector<ReportScatter> scatters = {};
  std::vector<std::string> sections = {};       // of a kind of job: HTML, as section() of page.h makes it
  std::string test_name = "held-out";           // what the test's curves are called
  std::string test_where = "on held-out data";  // and its best score

  ReportTable model = {};       // layers, shapes, parameters
  std::string model_note = {};  // "8,970 parameters, 35 KB"
  std::optional<Profile> profile = {};
  std::optional<PlanBytes> memory = {};
  std::string plan_svg = {};  // Plan::svg()
  std::string config = {};    // TOML
  std::vector<ReportFact> machine = {};

  /// The page.
  std::string html() const;
};

/// A table as HTML.
INGOT_API std::string html_table(const ReportTable& table);

}  // namespace ingot::recipe
