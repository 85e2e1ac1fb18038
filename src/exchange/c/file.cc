#include "exchange/c/file.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "exchange/c/helpers.h"
#include "ingot/base/error.h"
#include "ingot/base/numbers.h"

namespace ingot::exchange {

const char* memory_type(DType t) {
  switch (t) {
    case DType::kF32: return "f32";
    case DType::kF64: return "f64";
    case DType::kI32: return "i32";
    case DType::kI64: return "i64";
    case DType::kU8:
    case DType::kBool: return "u8";
    case DType::kF16:
    case DType::kBF16: return "u16";
  }
  return "";
}

const char* value_type(DType t) {
  switch (t) {
    case DType::kF32: return "float";
    case DType::kF64: return "double";
    case DType::kI32: return "int32_t";
    case DType::kI64: return "int64_t";
    case DType::kU8:
    case DType::kBool: return "uint8_t";
    case DType::kF16:
    case DType::kBF16: return "uint16_t";
  }
  return "";
}

std::string literal(double value, DType t) {
  if (!is_float(t))
    return literal(t == kI32   ? int64_t{saturate<int32_t>(value)}
                   : t == kI64 ? saturate<int64_t>(value)
                               : int64_t{saturate<uint8_t>(value)},
                   t);
  if (t == kF32) value = static_cast<float>(value);
  const std::string suffix = t == kF32 ? "f" : "";
  if (std::isnan(value)) return "(0.0" + suffix + " / 0.0" + suffix + ")";
  if (std::isinf(value)) return (value < 0 ? "(-1.0" : "(1.0") + suffix + " / 0.0" + suffix + ")";
  std::string s = t == kF32 ? exact_text(static_cast<float>(value)) : exact_text(value);
  if (s.find_first_of(".e") == std::string::npos) s += ".0";
  return s + suffix;
}

std::string literal(int64_t value, DType t) {
  if (t == kI64 && value == INT64_MIN) return "(-INT64_C(9223372036854775807) - 1)";
  if (t == kI32 && value == INT32_MIN) return "(-INT32_C(2147483647) - 1)";
  if (t == kI64) return "INT64_C(" + std::to_string(value) + ")";
  return t == kI32 && std::abs(value) > 32767 ? "INT32_C(" + std::to_string(value) + ")" : std::to_string(value);
}

namespace {

bool is_number(const std::string& s) {
  return !s.empty() && std::all_of(s.begin(), s.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
}
bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

}  // namespace

std::string element(const View& view, const std::vector<std::string>& index) {
  int64_t fixed = 0;
  std::string text;
  for (int a = 0; a < view.rank(); a++) {
    const std::string& i = index[static_cast<size_t>(a)];
    const int64_t stride = view.strides[a];
    if (stride == 0 || i == "0" || view.shape[a] == 1) continue;
    if (is_number(i)) {
      fixed += std::stoll(i) * stride;
      continue;
    }
    const bool simple = std::all_of(i.begin(), i.end(), is_word) || (i.front() == '(' && i.back() == ')');
    const std::string factor = simple ? i : "(" + i + ")";
    if (!text.empty())
      text += stride < 0 ? " - " : " + ";
    else if (stride < 0)
      text += "-";
    text += std::abs(stride) == 1 ? factor : factor + " * " + std::to_string(std::abs(stride));
  }
  if (fixed != 0 || text.empty())
    text += text.empty() ? std::to_string(fixed) : (fixed < 0 ? " - " : " + ") + std::to_string(std::abs(fixed));
  return view.name + "[" + text + "]";
}

// ---------------------------------------------------------------------------------------------------------------------

std::string File::math(const std::string& function, DType t) {
  if (function == "sqrt" && t == kF32) {
    includes_math_ = includes_math_ || math_;
    need(math_ ? "root" : "own_root");
    return "root";
  }
  if (math_) {
    includes_math_ = true;
    return function + (t == kF32 ? "f" : "");
  }
  std::string own = "own_" + function + (t == kF32 ? "f" : "");
  need(own);
  return own;
}

void File::need(const std::string& helper) {
  if (!needed_.insert(helper).second) return;
  const auto all = all_helpers();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Helper& h) { return helper == h.name; });
  if (found == all.end()) throw Error("to_c: no helper is named " + helper);
  for (const char* other : found->needs) need(other);
}

std::string File::helpers() const {
  std::string text;
  for (const Helper& h : all_helpers())
    if (needed_.contains(h.name)) text += h.text + std::string("\n");
  return text;
}

std::string File::function(const std::string& name, const std::string& comment, const std::string& text) {
  auto [known, fresh] = known_.try_emplace(text);
  if (!fresh) return known->second;
  known->second = name + "_" + str(++count_[name]);
  std::string own = text;
  own.replace(own.find("@@"), 2, known->second);
  functions_ += "/* " + comment + " */\n" + own + "\n";
  return known->second;
}

// ---------------------------------------------------------------------------------------------------------------------

Function::Function(File& file, Places& places, const Record& record) : file_(file), places_(places), record_(record) {
  for (const Operand& o : record.operands)
    if (o.given() && is_float(o.dtype)) {
      type_ = o.dtype;
      break;
    }
  main_type(type_);
}

void Function::main_type(DType t) {
  type_ = t;
  set("T", value_type(t));
  set("M", memory_type(t));
}

bool Function::given(int input) const {
  // An op's last inputs may be left out altogether: what stands in their place is a result.
  if ((record_.kind == Record::Kind::kOp || record_.kind == Record::Kind::kCheck) && input >= record_.inputs)
    return false;
  return input < static_cast<int>(record_.operands.size()) && record_.operands[static_cast<size_t>(input)].given();
}

namespace {
// The same elements in the same layout: a result that stands where an operand stood.
bool same_place(const Operand& a, const Operand& b) {
  return a.space == b.space && a.index == b.index && a.offset == b.offset && a.dtype == b.dtype && a.shape == b.shape &&
         a.strides == b.strides;
}
}  // namespace

bool Function::alone(int operand) const {
  const Operand& mine = record_.operands[static_cast<size_t>(operand)];
  const graph::Extent extent = extent_of(mine);
  const bool changes = is_written(operand);
  for (size_t i = 0; i < record_.operands.size(); i++) {
    const Operand& other = record_.operands[i];
    if (!other.given() || static_cast<int>(i) == operand) continue;
    // Memory that changes has one pointer; that the same is read by two names is harmless, but compilers warn about it.
    if (same_place(mine, other)) {
      if (changes) continue;
      return false;
    }
    if (!changes && !is_written(static_cast<int>(i))) continue;
    if (extent.meets(extent_of(other))) return false;
  }
  return true;
}

bool Function::is_written(int operand) const {
  const Operand& mine = record_.operands[static_cast<size_t>(operand)];
  return std::any_of(record_.operands.begin(), record_.operands.end(),
                     [&](const Operand& o) { return o.given() && o.written && same_place(mine, o); });
}

const View& Function::use(int operand, const std::string& name) {
  Operand o = record_.operands[static_cast<size_t>(operand)];
  o.written = is_written(operand);
  // Memory that changes has one pointer, so that it can be `restrict`; what is only read has a name for every operand.
  for (const auto& [other, parameter] : used_)
    if (other == operand || (o.written && same_place(o, record_.operands[static_cast<size_t>(other)])))
      return views_[name] = {parameter, o.dtype, o.shape, o.strides};
  used_.emplace_back(operand, name);
  parameter(std::string(o.written ? "" : "const ") + memory_type(o.dtype) + " *" + (alone(operand) ? "restrict " : ""),
            name, places_.pointer(o));
  return views_[name] = {name, o.dtype, o.shape, o.strides};
}

void Function::parameter(const std::string& type, const std::string& name, const std::string& argument) {
  parameters_.push_back(type + name);
  arguments_.push_back(argument);
}

void Function::scratch(const std::string& type, const std::string& name, int64_t bytes) {
  parameter(type + " *restrict ", name, "(" + type + " *)" + places_.scratch(record_, bytes));
}

void Function::line(const std::string& text) {
  if (!text.empty()) text_ += std::string(static_cast<size_t>(2 * depth_), ' ') + fill(text);
  text_ += "\n";
}

void Function::lines(const std::string& text) {
  size_t at = text.starts_with("\n") ? 1 : 0;
  while (at < text.size()) {
    const size_t end = std::min(text.find('\n', at), text.size());
    if (end > at) line(text.substr(at, end - at));
    at = end + 1;
  }
}

void Function::open(const std::string& head) {
  line(head.empty() ? "{" : head + " {");
  depth_++;
}

void Function::close() {
  depth_--;
  line("}");
}

std::vector<std::string> Function::loops(const Dims& shape, const std::map<int, std::string>& but,
                                         const std::string& letter) {
  std::vector<std::string> index;
  int opened = 0;
  for (int a = 0; a < shape.size(); a++) {
    if (const auto given = but.find(a); given != but.end()) {
      index.push_back(given->second);
    } else if (shape[a] == 1) {
      index.emplace_back("0");
    } else {
      const std::string i = letter + std::to_string(a);
      open(cat("for (long ", i, " = 0; ", i, " < ", str(shape[a]), "; ", i, "++)"));
      index.push_back(i);
      opened++;
    }
  }
  if (opened == 0) open("");  // names inside are of their own in any case
  open_loops_.push_back(std::max(opened, 1));
  return index;
}

void Function::close_loops() {
  close(open_loops_.back());
  open_loops_.pop_back();
}

std::string Function::fill(const std::string& text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const char c = text[at];
    size_t end = at + 1;
    if (text.compare(at, 2, "@@") == 0) {  // the function's own name, which comes later
      out += "@@";
      end++;
    } else if (c == '$' || c == '@') {
      while (end < text.size() && is_word(text[end])) end++;
      const std::string word = text.substr(at + 1, end - at - 1);
      if (c == '@') {
        out += file_.math(word, type_);
      } else if (const auto view = views_.find(word); view != views_.end() && end < text.size() && text[end] == '[') {
        int depth = 0;
        size_t from = end + 1;
        std::vector<std::string> index;
        for (size_t k = end;; k++) {
          const char d = text.at(k);
          depth += d == '[' || d == '(' ? 1 : d == ']' || d == ')' ? -1 : 0;
          if ((d == ',' && depth == 1) || depth == 0) {
            std::string part = fill(text.substr(from, k - from));
            for (size_t cut = 0; (cut = part.find(", ")) != std::string::npos && part.find('(') == std::string::npos;) {
              index.push_back(part.substr(0, cut));  // a value that is several indices
              part = part.substr(cut + 2);
            }
            part.erase(0, part.find_first_not_of(' '));
            if (!part.empty()) index.push_back(part);
            from = k + 1;
          }
          if (depth == 0) {
            end = k + 1;
            break;
          }
        }
        if (static_cast<int>(index.size()) != view->second.rank())
          throw Error("to_c: " + text + " has another number of axes");
        out += element(view->second, index);
      } else if (const auto value = values_.find(word); value != values_.end()) {
        out += value->second.find('$') == std::string::npos ? value->second : fill(value->second);
      } else {
        throw Error(cat("to_c: nothing is named $", word, " in: ", text));
      }
    } else if (c == '#' && end < text.size() &&
               (std::isdigit(static_cast<unsigned char>(text[end])) != 0 || text.compare(end, 3, "inf") == 0)) {
      double value = 0;  // in every locale
      end = static_cast<size_t>(std::from_chars(&text[end], text.data() + text.size(), value).ptr - text.data());
      out += literal(value, type_);
    } else {
      out += c;
    }
    at = end;
  }
  return out;
}

namespace {
const Attr& attr(const Record& r, const char* name) {
  const Attr* a = r.attrs->find(name);
  if (a == nullptr) throw Error("to_c: " + std::string(r.op->name) + " has no constant \"" + name + "\"");
  return *a;
}
}  // namespace

int64_t Function::integer(const char* name) const { return attr(record_, name).integer; }
double Function::real(const char* name) const { return attr(record_, name).real; }
const Dims& Function::ints(const char* name) const { return attr(record_, name).ints; }

std::string Function::call(const std::string& name, const std::string& comment, const std::string& result) {
  std::string parameters, arguments;
  for (size_t i = 0; i < parameters_.size(); i++) {
    parameters += (i > 0 ? ", " : "") + parameters_[i];
    arguments += (i > 0 ? ", " : "") + arguments_[i];
  }
  if (parameters.empty()) parameters = "void";
  const std::string text = "static " + result + " @@(" + parameters + ") {\n" + text_ + "}\n";
  return file_.function(name, comment, text) + "(" + arguments + ")";
}

}  // namespace ingot::exchange
