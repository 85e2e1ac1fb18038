#include "ingot/recipe/task.h"

#include <cmath>

#include "ingot/base/error.h"
#include "ingot/recipe/value.h"

namespace ingot::recipe {
namespace {

constexpr int64_t kMostNumbers = int64_t{1} << 26;  // in a sample: what a hostile file may have us allocate
constexpr int64_t kMostClasses = 1'000'001;

void require(bool holds, const char* otherwise) {
  if (!holds)
    throw Error(ErrorKind::kFile, std::string("what the model says about its data makes no sense: ") + otherwise +
                                      " — the file is damaged, or another program wrote it");
}

// What a file says under a key, of the type that it must have.
class Reader {
 public:
  explicit Reader(const Value& table) : table_(table) {
    if (table.type != Value::Type::kTable) unreadable("no table");
  }

  const Value& of_type(const char* key, Value::Type type) const {
    const Value* v = table_.find(key);
    if (v == nullptr)
      throw Error(ErrorKind::kFile,
                  std::string("what the model says about its data is not complete — another version of Ingot wrote "
                              "it: there is no \"") +
                      key + "\"");
    if (v->type != type) unreadable(key);
    return *v;
  }
  int64_t integer(const char* key) const { return of_type(key, Value::Type::kInteger).integer; }
  bool flag(const char* key) const { return of_type(key, Value::Type::kBoolean).boolean; }

  std::vector<int64_t> integers(const char* key) const {
    std::vector<int64_t> out;
    for (const Value& v : of_type(key, Value::Type::kList).list) {
      if (v.type != Value::Type::kInteger) unreadable(key);
      out.push_back(v.integer);
    }
    return out;
  }
  std::vector<float> floats(const char* key) const {
    std::vector<float> out;
    for (const Value& v : of_type(key, Value::Type::kList).list) {
      if (v.type != Value::Type::kInteger && v.type != Value::Type::kNumber) unreadable(key);
      out.push_back(static_cast<float>(v.number));
    }
    return out;
  }
  std::vector<std::string> texts(const char* key) const {
    std::vector<std::string> out;
    for (const Value& v : of_type(key, Value::Type::kList).list) {
      if (v.type != Value::Type::kText) unreadable(key);
      out.push_back(v.text);
    }
    return out;
  }
  Dims shape(const char* key) const {
    const std::vector<int64_t> sizes = integers(key);
    require(sizes.size() < 7, "a shape that is none");
    Dims out;
    int64_t numbers = 1;
    for (const int64_t size : sizes) {
      require(size >= 1 && size <= kMostNumbers / numbers, "samples without numbers, or with too many");
      numbers *= size;
      out.push_back(size);
    }
    return out;
  }

 private:
  [[noreturn]] static void unreadable(const char* what) {
    throw Error(ErrorKind::kFile, std::string("what the model says about its data cannot be read: ") + what);
  }
  const Value& table_;
};

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
  return recipe::to_json(record({{"input", std::vector<int64_t>(input.begin(), input.end())},
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
                                 {"reconstructs", reconstructs}}));
}

Task Task::from_json(const std::string& text) {
  const Value json = parse_json(text);
  const Reader r(json);
  Task task;
  task.input = r.shape("input");
  task.target = r.shape("target");
  task.input_type = r.flag("tokens") ? kI64 : kF32;
  task.classes = r.integer("classes");
  task.class_names = r.texts("class_names");
  task.columns = r.texts("columns");
  task.column_numbers = r.integers("column_numbers");
  task.table_columns = r.integer("table_columns");
  task.mean = r.floats("mean");
  task.deviation = r.floats("deviation");
  task.target_mean = r.floats("target_mean");
  task.target_deviation = r.floats("target_deviation");
  for (const int64_t c : r.integers("vocabulary")) {
    require(c >= 0 && c < 256, "a character that is none");
    task.vocabulary += static_cast<char>(c);
  }
  task.rows = r.integer("rows");
  task.reconstructs = r.flag("reconstructs");
  check(task);
  return task;
}

int64_t Task::results() const { return classes > 0 ? classes : element_count(target); }
int64_t Task::inputs() const { return element_count(input); }

std::string Task::class_name(int64_t number) const {
  const auto i = static_cast<size_t>(number);
  return i < class_names.size() ? class_names[i] : std::to_string(number);
}

}  // namespace ingot::recipe
