// A C file while it is written: functions (one for all records that do the same), and what they need in front of them.
#pragma once
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ingot/base/dtype.h"
#include "ingot/base/shape.h"
#include "ingot/graph/program.h"

namespace ingot::exchange {

using graph::Operand;
using graph::Record;

/// A piece of every file that something in it asks for, with the pieces it stands on.
struct Helper {
  const char* name;
  std::vector<const char*> needs;
  const char* text;
};

/// An operand as a function sees it: a pointer with a name, to elements of a type and layout.
struct View {
  std::string name;
  DType dtype = kF32;
  Dims shape, strides;
  int rank() const { return shape.size(); }
};

/// "float", "int32_t", …: how the file calls a type for elements in memory that others share ("f32"), and for values.
const char* memory_type(DType t);
const char* value_type(DType t);
/// A number as a constant of that type; infinities and NaN have names of their own.
std::string literal(double value, DType t);
std::string literal(int64_t value, DType t);
/// name[i * 3 + j]: the element of a view at an index, one expression per axis.
std::string element(const View& view, const std::vector<std::string>& index);
inline std::string str(int64_t n) { return std::to_string(n); }
/// All of them, one after the other.
template <class... T>
std::string cat(const T&... parts) {
  std::string text;
  (text.append(std::string_view(parts)), ...);
  return text;
}

class File {
 public:
  explicit File(bool math) : math_(math) {}
  /// What the file calls a function of math.h for that type.
  std::string math(const std::string& function, DType t);
  void need(const std::string& helper);
  /// The function of that text, its name written as @@; a function that is there already serves again.
  std::string function(const std::string& name, const std::string& comment, const std::string& text);

  bool includes_math() const { return includes_math_; }
  std::string helpers() const;
  const std::string& functions() const { return functions_; }

 private:
  bool math_, includes_math_ = false;
  std::set<std::string> needed_;
  std::map<std::string, std::string> known_;  // text to name
  std::map<std::string, int> count_;          // of functions that begin with a name
  std::string functions_;
};

/// Where operands are in the function that calls: a pointer of the operand's type.
class Places {
 public:
  virtual ~Places() = default;
  virtual std::string pointer(const Operand& operand) = 0;
  /// Bytes that a record may use while it runs.
  virtual std::string scratch(const Record& record, int64_t bytes) = 0;
  /// The operand's elements if they are known now: constants and frozen memory.
  virtual const std::byte* elements(const Operand& operand) const = 0;
  /// Constant elements, under a name that the same key gives again.
  virtual std::string constant(const std::string& key, DType type, const std::string& comment,
                               std::vector<std::byte> bytes) = 0;
  /// What tells an operand's elements from those of others.
  virtual std::string key(const Operand& operand) const = 0;
};

/// A function of the file for one record. Its text is C with $ in front of what is filled in: $name is a value that was
/// `set`, $x[i, j] an element of a view, @exp a function of math.h and #0.5 a constant, both of the main type.
class Function {
 public:
  Function(File& file, Places& places, const Record& record);

  const Record& record() const { return record_; }
  File& file() { return file_; }
  Places& places() { return places_; }
  /// Is there such an input?
  bool given(int input) const;
  /// The operand as a parameter of that name.
  const View& use(int operand, const std::string& name);
  const View& in(int i, const std::string& name) { return use(i, name); }
  const View& out(int i, const std::string& name) { return use(record_.inputs + i, name); }
  /// A name for what is no operand by itself, such as a part of one.
  const View& name(const std::string& as, const View& view) { return views_[as] = view; }
  /// A further parameter.
  void parameter(const std::string& type, const std::string& name, const std::string& argument);
  /// Bytes of scratch, as a parameter of that type and name.
  void scratch(const std::string& type, const std::string& name, int64_t bytes);

  void set(const std::string& name, const std::string& value) { values_[name] = value; }
  void set(const std::string& name, int64_t value) { values_[name] = str(value); }
  void main_type(DType t);
  DType main_type() const { return type_; }

  void line(const std::string& text);
  void lines(const std::string& text);                  // of several; the first and the last may be empty
  void raw(const std::string& text) { text_ += text; }  // as it is
  void before(const std::string& text) { text_ = "  " + text + "\n" + text_; }  // in front of all
  /// A name for an index; axes of one element do not ask for it.
  void place(const std::string& name, const std::string& value) {
    lines(cat("const long ", name, " = ", value, ";\n(void)", name, ";"));
  }
  void open(const std::string& head);
  void close();
  void close(int count) {
    while (count-- > 0) close();
  }
  /// Loops over a shape; gives its indices, "0" for axes of one element. An axis in `but` gets no loop, and that index.
  std::vector<std::string> loops(const Dims& shape, const std::map<int, std::string>& but = {},
                                 const std::string& letter = "i");
  void close_loops();
  std::string at(const View& view, const std::vector<std::string>& index) const { return element(view, index); }
  std::string fill(const std::string& text);

  // Constants of the call.
  int64_t integer(const char* name) const;
  double real(const char* name) const;
  bool flag(const char* name) const { return integer(name) != 0; }
  const Dims& ints(const char* name) const;
  bool has_attr(std::string_view name) const { return record_.attrs->find(name) != nullptr; }

  /// Ends it; the call of it.
  std::string call(const std::string& name, const std::string& comment, const std::string& result = "void");

 private:
  bool is_written(int operand) const;
  bool alone(int operand) const;  // does nothing else of the record touch its memory while that changes?

  File& file_;
  Places& places_;
  const Record& record_;
  DType type_ = kF32;
  std::map<std::string, std::string> values_;
  std::map<std::string, View> views_;
  std::vector<std::string> parameters_, arguments_;
  std::vector<std::pair<int, std::string>> used_;  // operands, and the parameters that they are
  std::string text_;
  int depth_ = 1;
  std::vector<int> open_loops_;
};

}  // namespace ingot::exchange
