// The door of a system: what a library of gates, of rules, of one's own hands over so that descriptions can name it
// and the `ingot` program can do it. Spans, handed over explicitly; nothing registers itself.
//
//   const recipe::System& gates::system();                      // in <ingot/gates/door.h>
//   auto run = Recipe::load("gol", {&gates::system()}).run();
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ingot/base/export.h"
#include "ingot/io/io.h"
#include "ingot/nn/loss.h"
#include "ingot/nn/module.h"
#include "ingot/nn/trainer.h"
#include "ingot/recipe/command.h"
#include "ingot/recipe/data_source.h"
#include "ingot/recipe/embedded.h"
#include "ingot/recipe/keys.h"
#include "ingot/recipe/task.h"

namespace ingot {
struct Op;
}

namespace ingot::recipe {

struct Description;
struct Job;
struct Report;
class OwnRun;
class Progress;
class RunFolder;

/// A layer's completed table, and the input that it will see.
struct INGOT_API LayerRequest {
  const Settings& s;
  const Tensor& x;  // two samples of zeros
  const Task& task;
  const Catalogue& catalogue;

  /// Size of the last axis; of the positions of a sequence; of the channels before so many axes. An Error if x has none.
  int64_t last() const { return x.size(-1); }
  int64_t length() const;
  int64_t channels(int spatial) const;
  /// The key "out": as many entries as the target needs, if it is 0.
  int64_t out() const { return s.integer("out") > 0 ? s.integer("out") : task.results(); }
  Dims dims(const char* key) const { return s.has(key) ? Dims(s.integers(key)) : Dims(); }
};

/// A type of layer.
struct LayerType {
  Choice choice;
  nn::LayerPtr (*make)(const LayerRequest&);
};

/// A type of [loss].
struct LossType {
  Choice choice;
  Targets targets;
  nn::Loss (*make)(const Settings&);
  double (*shown)(double result) = nullptr;  // a result in the unit of the target; nullptr: it is in it
  /// Can results of this shape be compared with such targets? nullptr: if their shapes are equal.
  bool (*compares)(const Dims& result, const Dims& target) = nullptr;
  const char* of = nullptr;  // what sources that ask for this loss are called: no others may have it
};

/// How training ended: as it should; with weights that failed the exam of their kind; so that it begins anew, with
/// another description; because it was cancelled.
enum class Outcome { kDone, kFailed, kAgain, kCancelled };

/// One run of a kind of job, asked where such runs differ from plain ones.
class INGOT_API KindOfRun {
 public:
  virtual ~KindOfRun() = default;
  /// What people read before the scores of a test.
  virtual std::string test_name() const { return "test"; }
  /// What a checkpoint remembers for it.
  virtual void restore(const io::Metadata& /*checkpoint*/) {}
  virtual void save(io::Metadata& /*checkpoint*/) const {}
  /// More of the events that begin and end the run.
  virtual void begin_event(Value& /*event*/) const {}
  virtual void end_event(Value& /*event*/) const {}
  /// The weights are trained and their checkpoint is written: what becomes of them. Never kCancelled.
  virtual Outcome finish() { return Outcome::kDone; }
  /// After kAgain: what to train next, in the same folder.
  virtual Description next() const;
  /// Sections of its own on the page, and lines of its own at the end.
  virtual void report(Report& /*report*/) const {}
  virtual void say_end() const {}
};

/// A kind of job: which descriptions are of it, and how they are trained, examined and shown.
struct JobKind {
  const char* name;
  const char* about;
  bool (*fits)(const Description&) = nullptr;
  /// What is seen as this job's seed; nullptr: train.seed.
  int64_t (*seed)(const Description&) = nullptr;
  /// A rule that ends training early; may be empty, or nullptr.
  std::function<bool(const std::vector<nn::EpochResult>& history)> (*enough)(const Description&) = nullptr;
  std::unique_ptr<KindOfRun> (*start)(Job&, RunFolder&, Progress&) = nullptr;
  /// Of a kind that runs itself (own_run.h): its sections, of which a description is of it that has the first one, and
  /// what trains it. Such a description has these sections and [output], and no others; one is [train] with integers
  /// `seed` and `threads`.
  std::span<const Section> sections = {};
  std::unique_ptr<OwnRun> (*begin)(const Description&) = nullptr;
};

/// Keys of its own in a section that all descriptions have. They are optional: who has not heard of the system can read
/// what was trained without it.
struct SectionKeys {
  const char* section;
  std::vector<Key> keys;
};

/// An option of `ingot train` that stands for a key.
struct TrainOption {
  const char *option, *key, *type, *about;
};

struct System {
  const char* name;
  const char* about;
  std::span<const Op* const> ops = {};
  std::span<const LayerType> layers = {};
  std::span<const LossType> losses = {};
  std::span<const SourceType> sources = {};
  std::span<const JobKind> jobs = {};
  std::span<Command (*const)()> commands = {};
  std::span<const SectionKeys> keys = {};
  std::span<const TrainOption> train_options = {};
  std::span<const EmbeddedFile> files = {};                            // recipes (NAME.toml) and their data
  std::string (*next_steps)(const std::string& run_folder) = nullptr;  // commands for a finished run of it, or ""
};

using Systems = std::vector<const System*>;

/// All types that descriptions may name: those of this library, and those of systems.
class INGOT_API Catalogue {
 public:
  explicit Catalogue(Systems systems = {});
  Catalogue(const Catalogue&) = delete;
  Catalogue& operator=(const Catalogue&) = delete;

  const Systems& systems() const { return systems_; }
  /// All sections and their keys: of plain jobs, and of the job that this is the description of.
  std::span<const Section> sections() const { return sections_; }
  std::span<const Section> sections_of(const Value& root) const;
  /// The types of "layers" or of "transforms".
  const Choices& types(std::string_view list) const;
  const LayerType& layer(const Value& table) const;
  const LossType& loss(const Value& section) const;
  const SourceType& source(const Value& section) const;
  /// Names of the sources that ask for this loss.
  std::vector<std::string> sources_with(const LossType& loss) const;
  /// nullptr: a plain job.
  const JobKind* kind_of(const Description& description) const;
  /// The kind that runs itself and whose section is there; nullptr if there is none.
  const JobKind* own_kind_of(const Value& root) const;
  /// nullptr: there is no such file.
  const EmbeddedFile* file(std::string_view name) const;
  std::vector<std::string> recipe_names() const;
  /// Sections and keys as a document: docs/toml.md.
  std::string document() const;

 private:
  Systems systems_;
  std::vector<const LayerType*> layers_;
  std::vector<const LossType*> losses_;
  std::vector<const SourceType*> sources_;
  Choices layer_choices_, transform_choices_;
  std::vector<Section> sections_;
  std::vector<std::pair<const JobKind*, std::vector<Section>>> own_sections_;
};

}  // namespace ingot::recipe
