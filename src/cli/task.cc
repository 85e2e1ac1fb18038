#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/model.h"
#include "ingot/error.h"

namespace ingot::cli {
namespace {

constexpr int64_t kMostNumbers = int64_t{1} << 26;  // in a sample: what a hostile file may have us allocate
constexpr int64_t kMostClasses = 1'000'001;

void require(bool holds, const char* otherwise) {
  if (!holds)
    throw Error(std::string("what the model says about its data makes no sense: ") + otherwise +
                " — the file is damaged, or another program wrote it");
}

Dims shape_of(const nlohmann::json& sizes) {
  require(sizes.is_array() && sizes.size() < 7, "a shape that is none");
  Dims shape;
  int64_t numbers = 1;
  for (const int64_t size : sizes) {
    require(size >= 1 && size <= kMostNumbers / numbers, "samples without numbers, or with too many");
    numbers *= size;
    shape.push_back(size);
  }
  return shape;
}

// Means and deviations: none, one for all, or one for each of `count`.
void check_scale(const std::vector<float>& mean, const std::vector<float>& deviation, int64_t count) {
  require(mean.size() == deviation.size(), "means and deviations are not equally many");
  require(mean.size() <= 1 || static_cast<int64_t>(mean.size()) == count, "means that do not fit the samples");
  for (size_t i = 0; i < mean.size(); i++)
    require(std::isfinite(mean[i]) && std::isfinite(deviation[i]) && deviation[i] > 0, "means that are no numbers");
}

// Everything that the rest of the program relies on.
void check(const Task& task) {
  require(task.classes >= 0 && task.classes <= kMostClasses, "the number of classes");
  require(task.class_names.empty() || static_cast<int64_t>(task.class_names.size()) == task.classes,
          "classes and their names are not equally many");
  require(task.rows >= 0 && task.rows <= 1'000'000, "the rows of a text");
  require(task.visible == 0 || (task.visible > 0 && task.input.size() == 3 && task.target.size() == 3 &&
                                task.visible == task.target[0] && task.visible <= task.input[0]),
          "the channels of an automaton");
  require(!task.reconstructs || (task.classes == 0 && task.target == task.input), "a target that is not the input");
  check_scale(task.mean, task.deviation, task.input.empty() ? 1 : task.input[0]);
  require(task.mean.empty() || task.input_type == kF32, "means of inputs that are no numbers");
  check_scale(task.target_mean, task.target_deviation, task.classes > 0 ? 0 : task.results());
  for (const int64_t number : task.column_numbers)
    require(number >= 0 && number < task.table_columns, "columns that are not there");
  if (task.vocabulary.empty()) return;
  require(static_cast<int64_t>(task.vocabulary.size()) == task.classes, "characters and classes are not equally many");
  require(task.input.size() == 1 && task.target == task.input && task.input_type == kI64, "the shape of a text");
}

}  // namespace

std::string Task::to_json() const {
  std::vector<int> characters;  // as numbers: bytes need not be UTF-8
  for (const unsigned char c : vocabulary) characters.push_back(c);
  const nlohmann::ordered_json json = {{"input", std::vector<int64_t>(input.begin(), input.end())},
                                       {"target", std::vector<int64_t>(target.begin(), target.end())},
                                       {"tokens", input_type != kF32},
                                       {"classes", classes},
                                       {"class_names", class_names},
                                       {"columns", columns},
                                       {"column_numbers", column_numbers},
                                       {"table_columns", table_columns},
                                       {"mean", mean},
                                       {"deviation", deviation},
                                       {"target_mean", target_mean},
                                       {"target_deviation", target_deviation},
                                       {"vocabulary", characters},
                                       {"rows", rows},
                                       {"reconstructs", reconstructs},
                                       {"visible", visible}};
  return json.dump();
}

Task Task::from_json(const std::string& text) {
  Task task;
  try {
    const nlohmann::json json = nlohmann::json::parse(text);
    task.input = shape_of(json.at("input"));
    task.target = shape_of(json.at("target"));
    task.input_type = json.at("tokens").get<bool>() ? kI64 : kF32;
    json.at("classes").get_to(task.classes);
    json.at("class_names").get_to(task.class_names);
    json.at("columns").get_to(task.columns);
    json.at("column_numbers").get_to(task.column_numbers);
    json.at("table_columns").get_to(task.table_columns);
    json.at("mean").get_to(task.mean);
    json.at("deviation").get_to(task.deviation);
    json.at("target_mean").get_to(task.target_mean);
    json.at("target_deviation").get_to(task.target_deviation);
    for (const int c : json.at("vocabulary")) {
      require(c >= 0 && c < 256, "a character that is none");
      task.vocabulary += static_cast<char>(c);
    }
    json.at("rows").get_to(task.rows);
    json.at("reconstructs").get_to(task.reconstructs);
    task.visible = json.value("visible", int64_t{0});  // models of version 0.1 have none
  } catch (const nlohmann::json::out_of_range& e) {
    throw Error(
        std::string("what the model says about its data is not complete — another version of Ingot wrote it: ") +
        e.what());
  } catch (const nlohmann::json::exception& e) {
    throw Error(std::string("what the model says about its data cannot be read: ") + e.what());
  }
  check(task);
  return task;
}

}  // namespace ingot::cli
