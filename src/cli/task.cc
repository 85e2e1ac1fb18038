#include <nlohmann/json.hpp>

#include "cli/model.h"
#include "ingot/error.h"

namespace ingot::cli {

std::string Task::to_json() const {
  std::vector<int> characters;  // as numbers: bytes need not be UTF-8
  for (const unsigned char c : vocabulary) characters.push_back(c);
  const nlohmann::ordered_json json = {{"input", std::vector<int64_t>(input.begin(), input.end())},
                                       {"target", std::vector<int64_t>(target.begin(), target.end())},
                                       {"tokens", input_type != kF32},
                                       {"classes", classes},
                                       {"class_names", class_names},
                                       {"columns", columns},
                                       {"mean", mean},
                                       {"deviation", deviation},
                                       {"target_mean", target_mean},
                                       {"target_deviation", target_deviation},
                                       {"vocabulary", characters},
                                       {"rows", rows},
                                       {"reconstructs", reconstructs}};
  return json.dump();
}

Task Task::from_json(const std::string& text) {
  Task task;
  try {
    const nlohmann::json json = nlohmann::json::parse(text);
    for (const int64_t size : json.at("input")) task.input.push_back(size);
    for (const int64_t size : json.at("target")) task.target.push_back(size);
    task.input_type = json.at("tokens").get<bool>() ? kI64 : kF32;
    json.at("classes").get_to(task.classes);
    json.at("class_names").get_to(task.class_names);
    json.at("columns").get_to(task.columns);
    json.at("mean").get_to(task.mean);
    json.at("deviation").get_to(task.deviation);
    json.at("target_mean").get_to(task.target_mean);
    json.at("target_deviation").get_to(task.target_deviation);
    for (const int c : json.at("vocabulary")) task.vocabulary += static_cast<char>(c);
    json.at("rows").get_to(task.rows);
    json.at("reconstructs").get_to(task.reconstructs);
  } catch (const nlohmann::json::exception& e) {
    throw Error(std::string("what the model says about its data cannot be read: ") + e.what());
  }
  return task;
}

}  // namespace ingot::cli
