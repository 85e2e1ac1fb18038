#include "cli/description.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "cli/data_source.h"
#include "cli/embedded.h"
#include "cli/learning.h"
#include "ingot/error.h"
#include "ingot/io.h"

namespace ingot::cli {
namespace {

namespace fs = std::filesystem;

const Key kTop[] = {
    {"name", Kind::kText, nullptr, "of the run folder; else the file's name"},
    {"about", Kind::kText, nullptr, "a sentence on what is trained"},
    {"reaches", Kind::kText, nullptr, "what to expect at the end"},
    {"takes", Kind::kText, nullptr, "how long it takes"},
};

std::vector<Section> make_sections() {
  return {
      {"data",
       "what to train on",
       {{"held_back", Kind::kNumber, "0.2", "share of the samples that is not trained on but tested with", 0, 0.9},
        {"seed", Kind::kInteger, "0", "of the draw of what is held back", 0},
        {"normalize", Kind::kBoolean, "true", "inputs to mean 0 and deviation 1 (of a table: each column)"},
        {"reconstruct", Kind::kBoolean, "false", "the target is the input itself: autoencoders"},
        {"transforms", Kind::kTables, "[]", "random changes of training samples: the types below", 0, 0,
         transform_choices}},
       data_choices()},
      {"model",
       "layers, one after the other",
       {{"layers", Kind::kTables, "", "the types below; sizes of inputs are inferred", 0, 0, layer_choices}}},
      {"loss", "what is to become small", {}, loss_choices(), "cross_entropy"},
      {"optimizer", "how weights follow gradients", {}, optimizer_choices(), "adam"},
      {"schedule",
       "the learning rate over the run",
       {{"warm_up", Kind::kInteger, "0", "updates over which the rate rises from 0", 0}},
       schedule_choices(),
       "constant"},
      {"train",
       "how long and in which portions",
       {{"epochs", Kind::kInteger, "10", "passes over the data", 1, 1e6},
        {"batch", Kind::kInteger, "32",
         "samples per step; a single one that is left over at the end of an epoch is left out", 1, 1e6},
        {"batches", Kind::kInteger, "0", "batches in an epoch; 0: all samples once", 0},
        {"seed", Kind::kInteger, "0", "of initial weights, order, augmentation and dropout", 0},
        {"threads", Kind::kInteger, "0", "worker threads; 0: INGOT_THREADS, or all cores", 0, 256},
        {"accumulate", Kind::kInteger, "1", "batches whose mean gradient makes one update", 1, 1e6},
        {"ema", Kind::kNumber, "0.0", "decay of averaged weights, which are then tested and kept; 0: none", 0, 1},
        {"patience", Kind::kInteger, "0",
         "epochs without a better result before it stops, with the best weights; 0: never stops early", 0},
        {"zeros", Kind::kInteger, "0",
         "epochs in a row with a test loss of 0 before it stops: what circuits can reach; 0: never", 0},
        {"restarts", Kind::kInteger, "0",
         "how often an automaton whose circuit fails its exam begins anew, with the next seed; each exam is stricter "
         "than the last, so that trying often does not pass it",
         0, 1000},
        {"attempt", Kind::kInteger, "0", "which of those this is: it is added to the seed", 0, 1000},
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

// Paths in a file are relative to it, those of --set to where the program was called.
void resolve_paths(Value& table, std::span<const Key> keys) {
  for (const Key& key : keys) {
    Value* v = key.kind == Kind::kPath ? table.find(key.name) : nullptr;
    if (v == nullptr || v->text.empty() || v->text.starts_with("recipe:") || fs::path(v->text).is_absolute()) continue;
    const bool from_file = v->place.line > 0;
    const fs::path folder = from_file ? fs::path(v->place.source->name).parent_path() : fs::path();
    v->text = fs::absolute(folder / v->text).lexically_normal().string();
  }
}

}  // namespace

std::span<const Section> sections() {
  static const std::vector<Section> all = make_sections();
  return all;
}

std::vector<std::string> recipe_names() {
  std::vector<std::string> names;
  for (const EmbeddedFile& file : embedded_files())
    if (file.name.ends_with(".toml")) names.emplace_back(file.name.substr(0, file.name.size() - 5));
  std::sort(names.begin(), names.end());
  return names;
}

Description parse_description(const std::string& name, const std::string& text, std::span<const std::string> sets) {
  Description d;
  d.root = parse_toml(name, text);
  for (const std::string& each : sets) set_value(d.root, each);
  d.name = fs::path(name).stem().string();

  std::vector<Key> top(std::begin(kTop), std::end(kTop));
  std::vector<std::string> names;
  names.reserve(top.size() + sections().size());
  for (const Key& key : top) names.emplace_back(key.name);
  for (const Section& s : sections()) names.emplace_back(s.name);
  for (const Entry& e : d.root.table)
    if (std::find(names.begin(), names.end(), e.key) == names.end())
      fail_at(e.place, fmt::format("there is no section or key \"{}\" — {}", e.key, suggestion(e.key, names)));

  Value complete_root;
  complete_root.place = d.root.place;
  for (const Key& key : top) {
    const Value* v = d.root.find(key.name);
    if (v == nullptr) continue;
    if (v->type != Value::Type::kText) fail_at(v->place, fmt::format("\"{}\" must be text", key.name));
    complete_root.table.push_back({key.name, v->place, *v});
  }
  for (const Section& s : sections()) {
    Value* v = d.root.find(s.name);
    Value table;
    table.place = {d.root.place.source, 0, 0};
    if (v != nullptr) table = std::move(*v);
    if (table.type != Value::Type::kTable)
      fail_at(table.place, fmt::format("\"{}\" must be a section: [{}]", s.name, s.name));
    const std::string label = std::string("[") + s.name + "]";
    complete(table, label, s.keys, s.choices, s.type);
    if (!s.choices.empty()) resolve_paths(table, chosen(table, s.choices).keys);
    complete_root.table.push_back({s.name, table.place, std::move(table)});
  }
  d.root = std::move(complete_root);
  if (const Value* given = d.root.find("name"); given != nullptr)
    d.name = given->text;
  else
    d.root.table.insert(d.root.table.begin(), {"name", d.root.place, text_value(d.name, d.root.place)});
  if (d.name.empty() || d.name.find('/') != std::string::npos)
    fail_at(Settings(d.root).value("name").place, "a name is a word, without slashes: it names the run's folder");
  return d;
}

Description load_description(const std::string& recipe_or_file, std::span<const std::string> sets) {
  // A recipe's name is a recipe's, whatever lies around here: a file of that name is ./NAME.
  if (const EmbeddedFile* file = find_embedded(recipe_or_file + ".toml"); file != nullptr)
    return parse_description(std::string(file->name), std::string(file->text()), sets);  // errors say digits.toml:3:1
  if (!fs::exists(recipe_or_file))
    throw Error(fmt::format("there is no recipe and no file \"{}\" — {}", recipe_or_file,
                            suggestion(recipe_or_file, recipe_names())));
  return parse_description(recipe_or_file, io::read_file(recipe_or_file), sets);
}

std::string keys_document() {
  std::string out =
      "<!-- Written by `./dev generate` from the tables in src/cli: change those and run it again. -->\n"
      "# What a description can say\n\n"
      "`ingot train FILE.toml` trains what a TOML file describes. `ingot recipes --show digits` prints a complete one "
      "to "
      "begin with.\n"
      "Every key can be changed on the command line: `--set train.epochs=3`, `--set model.layers.0.out=64`. A run's "
      "folder\n"
      "keeps the complete description as `config.toml`. Paths are relative to the file; `recipe:NAME` is a file inside "
      "the\n"
      "program. At the top of a file may stand:\n\n";
  out += keys_markdown(kTop);
  const auto choices = [&](const Choices& all, const char* what) {
    for (const Choice* c : all) {
      out += fmt::format("\n### {} `{}`\n{}.\n", what, c->type, c->doc);
      if (!c->keys.empty()) out += fmt::format("\n{}", keys_markdown(c->keys));
    }
  };
  for (const Section& s : sections()) {
    out += fmt::format("\n## [{}]: {}\n", s.name, s.doc);
    if (!s.keys.empty()) out += fmt::format("\n{}", keys_markdown(s.keys));
    if (s.type != nullptr) out += fmt::format("\n`type` is `{}` unless another is given.\n", s.type);
    choices(s.choices, "type");
    for (const Key& key : s.keys)
      if (key.of != nullptr) choices(key.of(), key.of == layer_choices ? "layer" : "transform");
  }
  return out;
}

}  // namespace ingot::cli
