// Facts in files: a line each, columns between tabs (or what the program says).
#include <algorithm>
#include <cstring>
#include <deque>
#include <filesystem>
#include <map>
#include <memory>

#include "ingot/base/file.h"
#include "ingot/base/text.h"
#include "ingot/base/threads.h"
#include "logic/chances.h"
#include "logic/evaluate.h"
#include "logic/shards.h"
#include "logic/update.h"

namespace ingot::logic {
namespace {

std::string option(const Request& r, const std::string& key, const std::string& otherwise) {
  const auto found = r.options.find(key);
  return found == r.options.end() ? otherwise : found->second;
}

constexpr size_t kSharedFile = 1 << 20;  // bytes that are worth more than one reader

struct Form {
  std::string delimiter;
  bool headers, quoted;
};

Form form_of(const Unit& unit, const Request& r, const std::string& path) {
  const bool quoted = option(r, "rfc4180", "false") == "true";
  const bool commas = unit.dialect == Dialect::kRules && path.ends_with(".csv");
  Form form{option(r, "delimiter", quoted || commas ? "," : "\t"), option(r, "headers", "false") == "true",
            quoted || commas};
  if (form.delimiter.empty()) unit.sources.fail(r.at, "an empty delimiter");
  const std::string io = option(r, "IO", "file");
  if (io != "file" && io != "stdout")
    unit.sources.fail(r.at, "IO=" + io + " is not supported", "facts come from files and go to files or to stdout");
  for (const char* key : {"compress", "params", "columns"})
    if (r.options.count(key) > 0) unit.sources.fail(r.at, "the option " + in_quotes(key) + " is not supported");
  return form;
}

std::string path_of(const std::string& folder, const std::string& name) {
  return std::filesystem::path(name).is_absolute() ? name : (std::filesystem::path(folder) / name).string();
}

class Reader {
 public:
  Reader(Unit& unit, Relation& into, std::string path, const Form& form)
      : unit_(unit), into_(into), path_(std::move(path)), form_(form) {}

  void read() {
    const InputFile file("facts", path_);
    if (file.size() == 0) return;
    const MappedFile map(file);
    at_ = reinterpret_cast<const char*>(map.data());
    end_ = at_ + map.size();
    if (form_.headers) skip_line();
    const int arity = into_.arity();
    const bool may_be_empty = arity == 1 && into_.types()[0] == Type::kSymbol;
    if (is_plain()) read_plain();
    Value fact[32];
    while (at_ < end_) {
      line_++;
      if ((*at_ == '\n' || *at_ == '\r') && !may_be_empty) {
        skip_line();
        continue;
      }
      if (arity == 0) {
        if (!std::string_view(at_, static_cast<size_t>(end_ - at_)).starts_with("()"))
          fail("the fact of a relation without columns is ()");
        into_.stage(fact);
        skip_line();
        continue;
      }
      for (int c = 0; c < arity; c++) fact[c] = column(c, c + 1 == arity);
      into_.stage(fact);
    }
  }

 private:
  bool is_plain() const {
    return into_.arity() > 0 && form_.delimiter.size() == 1 &&
           std::all_of(into_.types().begin(), into_.types().end(),
                       [](Type t) { return t == Type::kNumber || t == Type::kUnsigned; });
  }

  // Lines of small numbers alone, which most files are, up to the first line that is something else.
  const char* numbers(const char* at, const char* end, std::vector<uint32_t>& out, Held& held) const {
    const int arity = into_.arity();
    const char delimiter = form_.delimiter[0];
    while (at < end) {
      const char* p = at;
      const size_t before = out.size();
      if (out.capacity() - before < static_cast<size_t>(arity)) {
        const size_t more = std::max<size_t>(1024, 2 * out.capacity());
        held.grow_to(more * 4);
        out.reserve(more);
      }
      for (int c = 0; c < arity; c++) {
        const char* begin = p;
        uint32_t n = 0;
        while (p < end && static_cast<unsigned>(*p - '0') < 10 && p - begin < 9)
          n = n * 10 + static_cast<unsigned>(*p++ - '0');
        const bool last = c + 1 == arity;
        const bool ends = p == end ? last : *p == (last ? '\n' : delimiter);
        if (p == begin || !ends) {
          out.resize(before);
          return at;
        }
        p += p < end ? 1 : 0;
        out.push_back(n);
      }
      at = p;
    }
    return end;
  }

  // Bytes of a line, the longest of some places: what is expected of the rest is no more than there is.
  double line_length(size_t size) const {
    constexpr size_t kSample = 1 << 14;
    double longest = 0;
    for (const size_t at : {size_t{0}, size / 2, size - std::min(size, kSample)}) {
      const char *begin = at_ + at, *end = begin + std::min(kSample, size - at);
      const auto lines = std::count(begin, end, '\n');
      longest =
          std::max(longest, static_cast<double>(end - begin) / static_cast<double>(std::max<ptrdiff_t>(lines, 1)));
    }
    return longest;
  }

  // Workers take a part of the file each.
  void read_plain() {
    const auto size = static_cast<size_t>(end_ - at_);
    const bool wide = size > kSharedFile && threads() > 1;
    const size_t parts = wide ? static_cast<size_t>(threads()) : 1;
    std::vector<const char*> begins = {at_};
    for (size_t i = 1; i < parts; i++) {
      const char* from = std::max(begins.back(), at_ + size * i / parts);
      const void* newline = std::memchr(from, '\n', static_cast<size_t>(end_ - from));
      begins.push_back(newline == nullptr ? end_ : static_cast<const char*>(newline) + 1);
    }
    begins.push_back(end_);
    std::vector<std::vector<uint32_t>> read(parts);
    std::vector<const char*> stopped(parts);
    std::deque<Held> held;
    const double words = static_cast<double>(into_.arity()) / line_length(size);  // in a byte
    for (size_t i = 0; i < parts; i++) {
      held.emplace_back(into_.meter());
      if (!wide) continue;
      // The first part takes the others in when all are read.
      const auto bytes = static_cast<double>(i == 0 ? size : static_cast<size_t>(begins[i + 1] - begins[i]));
      const auto expected = static_cast<size_t>(words * bytes);
      held.back().grow_to(expected * 4);
      read[i].reserve(expected);
    }
    in_shards(wide, [&](const Team& team) {
      for (auto i = static_cast<size_t>(team.rank()); i < parts; i += static_cast<size_t>(team.size()))
        stopped[i] = numbers(begins[i], begins[i + 1], read[i], held[i]);
    });
    held.clear();  // from now on the relation counts it
    for (size_t i = 0; i < parts && at_ == begins[i]; i++) {
      at_ = stopped[i];
      line_ += std::ssize(read[i]) / into_.arity();
      into_.stage(std::move(read[i]));
    }
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ErrorKind::kFile,
                "facts: " + path_ + ":" + std::to_string(line_ + (form_.headers ? 1 : 0)) + ": " + what);
  }
  void skip_line() {
    const auto* newline = static_cast<const char*>(std::memchr(at_, '\n', static_cast<size_t>(end_ - at_)));
    at_ = newline == nullptr ? end_ : newline + 1;
  }
  bool at_delimiter() const {
    return static_cast<size_t>(end_ - at_) >= form_.delimiter.size() &&
           std::memcmp(at_, form_.delimiter.data(), form_.delimiter.size()) == 0;
  }

  Value column(int c, bool last) {
    const Type type = into_.types()[static_cast<size_t>(c)];
    Value value = 0;
    if (type == Type::kNumber || type == Type::kUnsigned) {  // most facts are small numbers
      const char* p = at_;
      uint64_t n = 0;
      while (p < end_ && static_cast<unsigned>(*p - '0') < 10 && p - at_ < 18)
        n = n * 10 + static_cast<unsigned>(*p++ - '0');
      if (p > at_ && (p == end_ || *p == '\n' || *p == form_.delimiter[0])) {
        at_ = p;
        finish(c, last);
        return n;
      }
    }
    const std::string_view text = field(last);
    if (!parse_value(type, form_.quoted && !unquoted_.empty() ? std::string_view(unquoted_) : text, value,
                     unit_.symbols))
      fail(in_quotes(text) + " is no " + type_name(type) + " (column " + std::to_string(c + 1) + ")");
    finish(c, last);
    return value;
  }

  // Up to the next delimiter or the end of the line.
  std::string_view field(bool last) {
    unquoted_.clear();
    if (form_.quoted && at_ < end_ && *at_ == '"') {
      for (at_++; at_ < end_; at_++) {
        if (*at_ == '"' && (at_ + 1 == end_ || at_[1] != '"')) break;
        if (*at_ == '"') at_++;
        unquoted_ += *at_;
      }
      if (at_ == end_) fail("a text in quotes that does not end");
      at_++;
      return unquoted_;
    }
    const char* begin = at_;
    while (at_ < end_ && *at_ != '\n' && (last || !at_delimiter())) at_++;
    if (last && form_.delimiter.size() == 1 &&
        std::memchr(begin, form_.delimiter[0], static_cast<size_t>(at_ - begin)) != nullptr)
      fail("more columns than the " + std::to_string(into_.arity()) + " of " + in_quotes(into_.name()));
    const char* end = at_;
    if (last && end > begin && end[-1] == '\r') end--;
    return {begin, static_cast<size_t>(end - begin)};
  }

  void finish(int c, bool last) {
    if (last) {
      if (at_ < end_ && *at_ == '\r') at_++;
      if (at_ < end_ && *at_ != '\n')
        fail("more columns than the " + std::to_string(into_.arity()) + " of " + in_quotes(into_.name()));
      if (at_ < end_) at_++;
      return;
    }
    if (!at_delimiter())
      fail("only " + counted(c + 1, "column") + ", " + in_quotes(into_.name()) + " has " +
           std::to_string(into_.arity()));
    at_ += form_.delimiter.size();
  }

  Unit& unit_;
  Relation& into_;
  std::string path_;
  const Form& form_;
  const char *at_ = nullptr, *end_ = nullptr;
  int64_t line_ = 0;
  std::string unquoted_;
};

std::string written(Type type, Value v, const Unit& unit, bool quoted) {
  if (type == Type::kFloat && unit.dialect == Dialect::kSouffle) return formatted("%.17g", as_float(v));
  std::string text = value_text(type, v, unit.symbols);
  if (type != Type::kSymbol || !quoted) return text;
  std::string result = "\"";
  for (const char c : text) result += c == '"' ? std::string("\"\"") : std::string(1, c);
  return result + '"';
}

// Facts that hold in some world, and how probable they are as a column behind the others.
template <class Write>
void write_uncertain(Evaluation& e, int number, const Form& form, Write&& write) {
  const auto facts = sorted_facts(e.relation(number));
  const std::vector<double> probabilities = Chances(e, e.proofs()).probabilities(number, facts);
  std::string text;
  for (size_t i = 0; i < facts.size(); i++) {
    if (probabilities[i] <= 0) continue;
    for (size_t c = 0; c < facts[i].size(); c++)
      text += written(e.relation(number).types()[c], facts[i][c], e.unit(), form.quoted) + form.delimiter;
    text += value_text(Type::kFloat, of_float(probabilities[i]), e.unit().symbols) + "\n";
  }
  write(text);
}

// All lines, in pieces of a megabyte.
template <class Write>
void write_lines(Evaluation& e, int number, const Form& form, Write&& write) {
  const Relation& r = e.relation(number);
  if (e.is_uncertain(number)) return write_uncertain(e, number, form, write);
  std::string text;
  if (form.headers) {
    std::vector<std::string> names;
    for (const Column& c : e.unit().relations[static_cast<size_t>(number)].columns) names.push_back(c.name);
    text = join(names, form.delimiter) + "\n";
  }
  if (r.arity() == 0 && r.size() > 0) text += "()\n";
  const auto line = [&](const Value* fact) {
    for (int c = 0; c < r.arity(); c++) {
      if (c > 0) text += form.delimiter;
      text += written(r.types()[static_cast<size_t>(c)], fact[c], e.unit(), form.quoted);
    }
    text += '\n';
    if (text.size() > (1u << 20)) write(std::exchange(text, {}));
  };
  if (r.rows() != nullptr)
    r.for_each(line);  // sorted as they are
  else if (r.arity() > 0)
    for (const auto& fact : sorted_facts(r)) line(fact.data());
  write(text);
}

}  // namespace

std::vector<std::vector<Value>> sorted_facts(const Relation& r) {
  std::vector<std::vector<Value>> all;
  r.for_each([&](const Value* fact) { all.emplace_back(fact, fact + r.arity()); });
  std::sort(all.begin(), all.end(), [&](const auto& a, const auto& b) {
    for (size_t c = 0; c < a.size(); c++) {
      if (a[c] == b[c]) continue;
      switch (r.types()[c]) {
        case Type::kNumber: return as_number(a[c]) < as_number(b[c]);
        case Type::kFloat: return as_float(a[c]) < as_float(b[c]);
        default: return a[c] < b[c];
      }
    }
    return false;
  });
  return all;
}

std::string fact_file(const Evaluation& e, int number, const Request& request) {
  return path_of(e.options().facts, option(request, "filename", e.relation(number).name() + ".facts"));
}

std::string output_file(const Evaluation& e, int number, const Request& request) {
  if (e.options().output == "-" || option(request, "IO", "file") == "stdout") return "";
  return path_of(e.options().output, option(request, "filename", e.relation(number).name() + ".csv"));
}

void read_facts(Evaluation& e, int number, const Request& request, Relation& into) {
  const std::string path = fact_file(e, number, request);
  const Form form = form_of(e.unit(), request, path);
  Reader(e.unit(), into, path, form).read();
}

bool reread_facts(Evaluation& e) {
  std::map<int, std::unique_ptr<Relation>> read;
  for (size_t i = 0; i < e.relations().size(); i++)
    for (const Request& request : e.unit().relations[i].requests) {
      if (request.kind != Request::Kind::kInput) continue;
      const int number = static_cast<int>(i);
      if (e.relation(number).best() != Best::kAll) return false;
      auto& into = read[number];
      if (!into) into = e.make_relation(number);
      read_facts(e, number, request, *into);
    }
  e.stage_facts([&](int number) { return read.count(number) > 0 ? read[number].get() : nullptr; });
  for (const auto& entry : read) {
    const int number = entry.first;
    Relation* now = entry.second.get();
    now->settle();
    const Relation* before = e.given(number);
    if (before != nullptr)
      before->for_each([&](const Value* fact) {
        if (!now->contains(fact)) e.updater().want(number, fact, false);
      });
    now->for_each([&](const Value* fact) {
      if (before == nullptr || !before->contains(fact)) e.updater().want(number, fact, true);
    });
  }
  return true;
}

std::string write_facts(Evaluation& e) {
  std::string shown;
  for (size_t i = 0; i < e.relations().size(); i++)
    for (const Request& request : e.unit().relations[i].requests) {
      const Relation& r = e.relation(static_cast<int>(i));
      if (request.kind == Request::Kind::kPrintSize) shown += r.name() + "\t" + std::to_string(r.size()) + "\n";
      if (request.kind != Request::Kind::kOutput) continue;
      const std::string path = output_file(e, static_cast<int>(i), request);
      const Form form = form_of(e.unit(), request, option(request, "filename", r.name() + ".csv"));
      if (path.empty()) {
        shown += "---------------\n" + r.name() + "\n===============\n";
        write_lines(e, static_cast<int>(i), form, [&](const std::string& text) { shown += text; });
        shown += "===============\n";
        continue;
      }
      AtomicFile file(path);
      write_lines(e, static_cast<int>(i), form, [&](const std::string& text) { file.write(text); });
      file.commit();
    }
  return shown;
}

}  // namespace ingot::logic
