#include "logic/theory/files.h"

#include <cmath>
#include <filesystem>
#include <set>
#include <unordered_map>

#include "ingot/base/error.h"
#include "ingot/base/file.h"
#include "ingot/base/numbers.h"
#include "ingot/base/text.h"
#include "ingot/io/io.h"
#include "ingot/ops/ops.h"

namespace ingot::logic {
namespace {

constexpr size_t kMostMembers = 10'000'000;
constexpr size_t kMostFields = 32;

[[noreturn]] void fail(const std::string& path, int64_t line, const std::string& what) {
  throw Error(ErrorKind::kFile, "facts: " + path + ":" + std::to_string(line) + ": " + what);
}

// The fields of one line, without its end.
std::vector<std::string> fields_of(const std::string& path, int64_t number, std::string_view line, char separator) {
  std::vector<std::string> fields;
  for (size_t i = 0;; i++) {
    if (fields.size() == kMostFields) fail(path, number, "more than " + std::to_string(kMostFields) + " columns");
    std::string& field = fields.emplace_back();
    if (separator == ',' && i < line.size() && line[i] == '"') {
      for (i++; i < line.size() && (line[i] != '"' || (i + 1 < line.size() && line[i + 1] == '"')); i++) {
        if (line[i] == '"') i++;
        field += line[i];
      }
      if (i >= line.size()) fail(path, number, "a text in quotes that does not end");
      i++;
      if (i < line.size() && line[i] != separator) fail(path, number, "something behind a text in quotes");
    } else {
      const size_t begin = i;
      i = std::min(line.find(separator, i), line.size());
      field = separator == ',' ? std::string(trimmed(line.substr(begin, i - begin)))
                               : std::string(line.substr(begin, i - begin));
    }
    if (i >= line.size()) return fields;
  }
}

// Calls f(line's number, fields) for all lines with something in them.
template <class F>
void each_line(const std::string& path, F f) {
  const std::string text = read_file(path);
  const char separator = path.ends_with(".csv") ? ',' : '\t';
  int64_t number = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line(text.data() + begin, end - begin);
    if (line.ends_with('\r')) line.remove_suffix(1);
    number++;
    if (!trimmed(line).empty()) f(number, fields_of(path, number, line, separator));
    begin = end + 1;
  }
}

bool is_table(const std::string& file) { return !file.ends_with(".npy") && !file.ends_with(".safetensors"); }

void put(const Tensor& t, int64_t i, double value) {
  store_from_double(static_cast<std::byte*>(t.raw()) + static_cast<size_t>(i) * size_of(t.dtype()), t.dtype(), value);
}

// The elements of a tensor as one list: places of facts count up along the last axis.
class Places {
 public:
  Places(const TheoryUnit& unit, const TheoryTensor& t) : unit_(unit), t_(t), numbers_(t.axes.size()) {
    for (size_t a = 0; a < t.axes.size(); a++) {
      const auto* members = members_of(a);
      for (size_t m = 0; members != nullptr && m < members->size(); m++) numbers_[a].emplace((*members)[m], m);
    }
  }
  const std::vector<std::string>* members_of(size_t axis) const {
    const int domain = t_.axes[axis].domain;
    if (domain < 0 || unit_.domains[static_cast<size_t>(domain)].members.empty()) return nullptr;
    return &unit_.domains[static_cast<size_t>(domain)].members;
  }
  int64_t size(size_t axis) const { return unit_.size_of(t_.axes[axis]); }

  // -1: the word is no member.
  int64_t number(size_t axis, const std::string& word) const {
    if (members_of(axis) != nullptr) {
      const auto found = numbers_[axis].find(word);
      return found == numbers_[axis].end() ? -1 : static_cast<int64_t>(found->second);
    }
    int64_t n = -1;
    return parse_number(std::string_view(word), n) && n >= 0 && n < size(axis) ? n : -1;
  }

 private:
  const TheoryUnit& unit_;
  const TheoryTensor& t_;
  std::vector<std::unordered_map<std::string_view, size_t>> numbers_;
};

void read_table(const TheoryUnit& unit, TheoryTensor& t, const std::string& path) {
  const Places places(unit, t);
  each_line(path, [&](int64_t line, const std::vector<std::string>& fields) {
    const size_t arity = t.axes.size();
    if (fields.size() != arity && fields.size() != arity + 1)
      fail(path, line,
           counted(std::ssize(fields), "column") + ", but " + in_quotes(t.name) + " has " + std::to_string(arity) +
               (t.truths ? ", and perhaps a truth behind them" : ", and a number behind them"));
    int64_t at = 0;
    for (size_t a = 0; a < arity; a++) {
      const int64_t n = places.number(a, fields[a]);
      if (n < 0)
        fail(path, line,
             in_quotes(fields[a]) + " is no member of " + unit.text_of(t.axes[a]) + " (column " +
                 std::to_string(a + 1) + (line == 1 ? ") — a line of headings does not belong there" : ")"));
      at = at * places.size(a) + n;
    }
    double value = 0;
    const bool has_value = fields.size() > arity;
    if (has_value && !parse_number(trimmed(fields[arity]), value))
      fail(path, line, in_quotes(fields[arity]) + " is no number (column " + std::to_string(arity + 1) + ")");
    put(t.elements, at,
        stored_value(unit, t, has_value ? &value : nullptr,
                     [&](const std::string& what, const std::string&) { fail(path, line, what); }));
  });
}

}  // namespace

std::string path_in(const std::string& folder, const std::string& file) {
  return std::filesystem::path(file).is_absolute() ? file : (std::filesystem::path(folder) / file).string();
}

std::vector<std::string> read_members(const TheoryUnit& unit, const std::string& file,
                                      const std::vector<int64_t>& columns) {
  const std::string path = path_in(unit.folder, file);
  if (!is_table(file))
    throw Error(ErrorKind::kArgument,
                "facts: members of a domain are words, and " + in_quotes(file) + " has none — give a .csv or a table");
  std::vector<std::string> members;
  std::set<std::string> seen;
  each_line(path, [&](int64_t line, const std::vector<std::string>& fields) {
    for (const int64_t c : columns) {
      if (c > std::ssize(fields))
        fail(path, line, "there is no column " + std::to_string(c) + ", only " + counted(std::ssize(fields), "column"));
      const std::string& word = fields[static_cast<size_t>(c - 1)];
      if (seen.insert(word).second) members.push_back(word);
    }
    if (members.size() > kMostMembers) fail(path, line, "more than " + grouped(kMostMembers) + " members");
  });
  return members;
}

void read_elements(const TheoryUnit& unit, TheoryTensor& t) {
  const std::string path = path_in(unit.folder, t.file);
  if (is_table(t.file)) return read_table(unit, t, path);
  const Tensor given = t.file.ends_with(".npy") ? io::load_npy(path) : io::load_safetensors(path)[t.name];
  if (!(given.shape() == t.elements.shape()))
    throw Error(ErrorKind::kShape, "facts: " + path + " has " + to_string(given.shape()) + ", and " +
                                       in_quotes(t.name) + " is " + to_string(t.elements.shape()));
  const Tensor values = contiguous(to(given, kF64));
  int64_t i = 0;
  const Complaint wrong = [&](const std::string& what, const std::string&) {
    throw Error(ErrorKind::kFile, formatted("facts: %s: %s (element %lld of %s)", path.c_str(), what.c_str(),
                                            static_cast<long long>(i), in_quotes(t.name).c_str()));
  };
  for (; i < values.numel(); i++) put(t.elements, i, stored_value(unit, t, values.data<double>() + i, wrong));
}

void write_elements(const TheoryUnit& unit, const TheoryTensor& t, const Tensor& elements, const std::string& path) {
  if (path.ends_with(".npy")) return io::save_npy(path, elements);
  if (path.ends_with(".safetensors")) {
    const NamedTensor named{t.name, elements};
    return io::save_safetensors(path, {&named, 1});
  }
  const Places places(unit, t);
  const bool commas = path.ends_with(".csv");
  const double nothing = t.truths && !unit.algebra.empty() ? algebra(unit.algebra).zero : 0;
  const auto word = [&](size_t axis, int64_t n) {
    const auto* members = places.members_of(axis);
    if (members == nullptr) return std::to_string(n);
    const std::string& name = (*members)[static_cast<size_t>(n)];
    if (!commas) return name;
    std::string quoted = "\"";
    for (const char c : name) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
    return quoted + '"';
  };
  const Tensor x = contiguous(to(elements, kF64));
  AtomicFile file(path);
  std::string text;
  for (int64_t i = 0; i < x.numel(); i++) {
    const double value = x.data<double>()[i];
    if (t.truths && value == nothing) continue;
    std::string line;
    int64_t rest = i;
    for (int a = x.rank() - 1; a >= 0; a--) {
      line.insert(0, word(static_cast<size_t>(a), rest % x.size(a)) + (commas ? "," : "\t"));
      rest /= x.size(a);
    }
    text += line + (unit.dtype == kF32 ? exact_text(static_cast<float>(value)) : exact_text(value)) + "\n";
    if (text.size() > (size_t{1} << 20)) file.write(std::exchange(text, {}));
  }
  file.write(text);
  file.commit();
}

}  // namespace ingot::logic
