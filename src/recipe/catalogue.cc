// All that descriptions may name: this library's types, and those of systems.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "ingot/base/error.h"
#include "ingot/ops/own_op.h"
#include "ingot/recipe/description.h"
#include "ingot/recipe/system.h"
#include "recipe/core_types.h"
#include "recipe/top_keys.h"

namespace ingot::recipe {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::vector<Section> core_sections() {
  return {
      {"data",
       "what to train on",
       {{"held_back", Kind::kNumber, "0.2", "share of the samples that is not trained on but tested with", 0, 0.9},
        {"seed", Kind::kInteger, "0", "of the draw of what is held back", 0},
        {"normalize", Kind::kBoolean, "true", "inputs to mean 0 and deviation 1 (of a table: each column)"},
        {"reconstruct", Kind::kBoolean, "false", "the target is the input itself: autoencoders"},
        {.name = "transforms",
         .kind = Kind::kTables,
         .initial = "[]",
         .doc = "random changes of training samples: the types below",
         .of = "transforms"}},
       {},
       nullptr,
       Change::kFixed},
      {"model",
       "layers, one after the other",
       {{.name = "layers",
         .kind = Kind::kTables,
         .initial = "",
         .doc = "the types below; sizes of inputs are inferred",
         .of = "layers"}},
       {},
       nullptr,
       Change::kFixed},
      {"loss", "what is to become small", {}, {}, "cross_entropy", Change::kFixed},
      {"optimizer", "how weights follow gradients", {}, optimizer_choices(), "adam"},
      {"schedule",
       "the learning rate over the run",
       {{"warm_up", Kind::kInteger, "0", "updates over which the rate rises from 0", 0}},
       schedule_choices(),
       "constant"},
      {"train",
       "how long and in which portions",
       {{"epochs", Kind::kInteger, "10", "passes over the data", 1, 1e6},
        {"batch", Kind::kIntegerOrAuto, "32",
         "samples per step; a single one that is left over at the end of an epoch is left out. \"auto\": as many as "
         "suit "
         "this machine's caches and memory, with at least 16 batches in an epoch; config.toml has the number",
         1, 1e6, nullptr, Change::kFixed},
        {"batches", Kind::kInteger, "0", "batches in an epoch; 0: all samples once", 0, kInfinity, nullptr,
         Change::kFixed},
        {"seed", Kind::kInteger, "0", "of initial weights, order, augmentation and dropout", 0, kInfinity, nullptr,
         Change::kFixed},
        {"threads", Kind::kInteger, "0", "worker threads; 0: INGOT_THREADS, or all cores", 0, 256},
        {"accumulate", Kind::kInteger, "1", "batches whose mean gradient makes one update", 1, 1e6, nullptr,
         Change::kFixed},
        {"ema", Kind::kNumber, "0.0", "decay of averaged weights, which are then tested and kept; 0: none", 0, 1},
        {"patience", Kind::kInteger, "0", "epochs without a better result before it stops; 0: never stops early", 0},
        {"prefetch", Kind::kInteger, "2", "batches made ahead by a thread", 0, 1024}}},
      {"output",
       "what is written and printed",
       {{"checkpoint_seconds", Kind::kNumber, "30.0",
         "the state is saved this often in long epochs; in short ones, once a second", 0},
        {"report", Kind::kBoolean, "true", "write report.html"},
        {"tensorboard", Kind::kBoolean, "false", "write events for TensorBoard"},
        {"sample_length", Kind::kInteger, "300", "characters of text that a language model shows after an epoch", 0,
         1e6},
        {"sample_prompt", Kind::kText, nullptr,
         "what they begin with; else a line break, or the text's first character"},
        {"temperature", Kind::kNumber, "0.8", "how boldly it draws them; 0: always the likeliest", 0, 100}}},
  };
}

// Rows of the core first, then those of systems. Two of one name would leave it open which is meant.
template <class Row>
void add_rows(std::vector<const Row*>& all, std::span<const Row> more, const char* system) {
  for (const Row& row : more) {
    const std::string_view type = row.choice.type;
    if (std::any_of(all.begin(), all.end(), [&](const Row* r) { return r->choice.type == type; }))
      throw Error(fmt::format("recipe: the system \"{}\" has a type \"{}\", which there is already", system, type));
    all.push_back(&row);
  }
}

template <class Row>
Choices choices_of(const std::vector<const Row*>& rows) {
  Choices all;
  for (const Row* row : rows) all.push_back(&row->choice);
  return all;
}

template <class Row>
const Row& row_named(const std::vector<const Row*>& rows, const Value& table) {
  const Choice* choice = &chosen(table, choices_of(rows));
  return **std::find_if(rows.begin(), rows.end(), [&](const Row* row) { return &row->choice == choice; });
}

}  // namespace

std::span<const Key> top_keys() {
  static const Key all[] = {
      {"name", Kind::kText, nullptr, "of the run folder; else the file's name"},
      {"about", Kind::kText, nullptr, "a sentence on what is trained"},
      {"reaches", Kind::kText, nullptr, "what to expect at the end"},
      {"takes", Kind::kText, nullptr, "how long it takes"},
  };
  return all;
}

Catalogue::Catalogue(Systems systems) : systems_(std::move(systems)) {
  add_rows(layers_, core_layers(), "");
  add_rows(losses_, core_losses(), "");
  add_rows(sources_, core_sources(), "");
  sections_ = core_sections();
  for (const System* system : systems_) {
    add_ops(system->ops);
    add_rows(layers_, system->layers, system->name);
    add_rows(losses_, system->losses, system->name);
    add_rows(sources_, system->sources, system->name);
    for (const SectionKeys& more : system->keys)
      for (Section& s : sections_)
        if (std::string_view(s.name) == more.section) s.keys.insert(s.keys.end(), more.keys.begin(), more.keys.end());
  }
  layer_choices_ = choices_of(layers_);
  transform_choices_ = recipe::transform_choices();
  for (Section& s : sections_) {
    const std::string_view name = s.name;
    if (name == "data") s.choices = choices_of(sources_);
    if (name == "loss") s.choices = choices_of(losses_);
    if (name == "optimizer") s.choices = optimizer_choices();
    if (name == "schedule") s.choices = schedule_choices();
  }
  for (const System* system : systems_)
    for (const JobKind& kind : system->jobs) {
      if (kind.begin == nullptr) continue;
      own_sections_.emplace_back(&kind, std::vector<Section>(kind.sections.begin(), kind.sections.end()));
      own_sections_.back().second.push_back(sections_.back());  // [output]
    }
}

const JobKind* Catalogue::own_kind_of(const Value& root) const {
  for (const auto& [kind, sections] : own_sections_)
    if (root.find(sections.front().name) != nullptr) return kind;
  return nullptr;
}

std::span<const Section> Catalogue::sections_of(const Value& root) const {
  const JobKind* own = own_kind_of(root);
  for (const auto& [kind, sections] : own_sections_)
    if (kind == own) return sections;
  return sections_;
}

const Choices& Catalogue::types(std::string_view list) const {
  return list == "layers" ? layer_choices_ : transform_choices_;
}

const LayerType& Catalogue::layer(const Value& table) const { return row_named(layers_, table); }
const LossType& Catalogue::loss(const Value& section) const { return row_named(losses_, section); }
const SourceType& Catalogue::source(const Value& section) const { return row_named(sources_, section); }

std::vector<std::string> Catalogue::sources_with(const LossType& loss) const {
  std::vector<std::string> names;
  for (const SourceType* s : sources_)
    if (s->loss != nullptr && std::string_view(s->loss) == loss.choice.type) names.emplace_back(s->choice.type);
  return names;
}

const JobKind* Catalogue::kind_of(const Description& description) const {
  if (const JobKind* own = own_kind_of(description.root); own != nullptr) return own;
  for (const System* system : systems_)
    for (const JobKind& kind : system->jobs)
      if (kind.fits != nullptr && kind.fits(description)) return &kind;
  return nullptr;
}

const EmbeddedFile* Catalogue::file(std::string_view name) const {
  for (const EmbeddedFile& file : embedded_files())
    if (file.name == name) return &file;
  for (const System* system : systems_)
    for (const EmbeddedFile& file : system->files)
      if (file.name == name) return &file;
  return nullptr;
}

std::vector<std::string> Catalogue::recipe_names() const {
  std::vector<std::string> names;
  const auto add = [&](std::span<const EmbeddedFile> files) {
    for (const EmbeddedFile& file : files)
      if (file.name.ends_with(".toml")) names.emplace_back(file.name.substr(0, file.name.size() - 5));
  };
  add(embedded_files());
  for (const System* system : systems_) add(system->files);
  std::sort(names.begin(), names.end());
  return names;
}

std::string Catalogue::document() const {
  std::string out =
      "<!-- Written by `./dev generate` from the tables in src/recipe and the doors of systems: change those and run "
      "it again. -->\n"
      "# What a description can say\n\n"
      "`ingot train FILE.toml` trains what a TOML file describes. `ingot recipes --show digits` prints a complete one "
      "to "
      "begin with.\n"
      "Every key can be changed on the command line: `--set train.epochs=3`, `--set model.layers.0.out=64`. A run's "
      "folder\n"
      "keeps the complete description as `config.toml`, and in `model.safetensors` the weights of the epoch that "
      "tested "
      "best (of the last one, if nothing is held back). Paths are relative to the file; `recipe:NAME` is a file inside "
      "the\n"
      "program. At the top of a file may stand:\n\n";
  out += keys_markdown(top_keys());
  const auto choices = [&](const Choices& all, const char* what) {
    for (const Choice* c : all) {
      out += fmt::format("\n### {} `{}`\n{}.\n", what, c->type, c->doc);
      if (!c->keys.empty()) out += fmt::format("\n{}", keys_markdown(c->keys));
    }
  };
  const auto describe = [&](const Section& s) {
    out += fmt::format("\n## [{}]: {}\n", s.name, s.doc);
    if (!s.keys.empty()) out += fmt::format("\n{}", keys_markdown(s.keys));
    if (s.type != nullptr) out += fmt::format("\n`type` is `{}` unless another is given.\n", s.type);
    choices(s.choices, "type");
    for (const Key& key : s.keys)
      if (key.of != nullptr) choices(types(key.of), key.of == std::string_view("layers") ? "layer" : "transform");
  };
  for (const Section& s : sections_) describe(s);
  for (const auto& [kind, sections] : own_sections_) {
    out += fmt::format(
        "\n# Descriptions with [{}]: {}\nThey have the following sections and [output], and none of the above.\n",
        sections.front().name, kind->about);
    for (size_t i = 0; i + 1 < sections.size(); i++) describe(sections[i]);
  }
  return out;
}

}  // namespace ingot::recipe
