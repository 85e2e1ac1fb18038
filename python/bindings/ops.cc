// Every public op of the table as a callable object: what a call may say, and how it is read, follow from the op's
// signature alone. Ops of one function (add of two tensors, add of a number) are one object, which goes by the arguments.
#include "bindings.h"

#include <structmember.h>

#include <deque>
#include <map>

#include "ingot/ops/functions.h"
#include "ingot/ops/ops.h"

namespace ingot::python {
namespace {

constexpr int kMostParameters = 16;

// An argument of a function: an input, or a constant with its default.
struct Argument {
  PyObject* name;  // interned
  int input = -1;  // its number among the inputs, or
  int attr = -1;   // among the constants
  bool optional = false, variadic = false;
  AttrType type = AttrType::kInt;
  std::string_view attr_name;
  Attrs fallback;  // holds the default, if `optional`
};

struct Overload {
  const Op* op;
  std::vector<Argument> arguments;
  PyObject* results = nullptr;  // the class of several results: a tuple with names
  std::string text;             // of its arguments, as Python writes them
};

struct Function {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject* name;
  PyObject* doc;
  PyObject* text_signature;
  std::vector<Overload>* overloads;  // for the life of the process
};
PyTypeObject* function_type = nullptr;
PyObject *out_name = nullptr, *axis_name = nullptr, *axes_name = nullptr;

// Defaults, as the table spells them -----------------------------------------------------------------------------------

Dims ints_of(std::string_view text) {  // "{}", "{2, 2}"
  Dims dims;
  std::string digits;
  for (char c : text) {
    if (c == '-' || (c >= '0' && c <= '9'))
      digits += c;
    else if (!digits.empty())
      dims.push_back(std::stoll(digits)), digits.clear();
  }
  return dims;
}

std::string set_default(Argument& a, std::string_view text) {
  const std::string spelled(text);
  Attrs& attrs = a.fallback;
  switch (a.type) {
    case AttrType::kInt: return attrs.set(a.attr_name, static_cast<int64_t>(std::stoll(spelled))), spelled;
    case AttrType::kReal: return attrs.set(a.attr_name, std::stod(spelled)), spelled;
    case AttrType::kFlag: return attrs.set(a.attr_name, spelled == "true"), spelled == "true" ? "True" : "False";
    case AttrType::kText: return attrs.set(a.attr_name, std::string_view("")), "''";
    case AttrType::kDType: {
      std::string name = spelled.substr(1);  // kF32
      for (char& c : name) c = static_cast<char>(std::tolower(c));
      attrs.set(a.attr_name, as_dtype(py::str(name)));
      return "'" + name + "'";
    }
    case AttrType::kInts: {
      const Dims dims = ints_of(text);
      attrs.set(a.attr_name, dims);
      return py::str(shape_tuple(dims));
    }
    case AttrType::kPointer: break;
  }
  throw Error(ErrorKind::kInternal, "python: a default that nobody reads: " + spelled);
}

PyObject* interned(std::string_view text) {
  PyObject* s = PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size()));
  PyUnicode_InternInPlace(&s);
  return s;
}

Overload read(const Op& op) {
  Overload o{&op, {}, nullptr, {}};
  const Signature& s = op.signature;
  std::vector<std::string> texts;
  for (int i = 0; i < s.input_count(); i++) {
    const Signature::Input in = s.input(i);
    Argument a;
    a.name = interned(in.name), a.input = i, a.optional = in.optional, a.variadic = in.variadic;
    texts.push_back(std::string(in.name) + (in.optional ? "=None" : ""));
    o.arguments.push_back(a);
  }
  for (int i = 0; i < s.attr_count(); i++) {
    const Signature::Attribute at = s.attr(i);
    Argument a;
    a.name = interned(at.name), a.attr = i, a.type = at.type, a.attr_name = at.name;
    o.arguments.push_back(a);
    Argument& kept = o.arguments.back();
    // The fallback of a group is that of its fields; "{}" for lists that stand alone.
    kept.optional = !at.fallback.empty();
    texts.push_back(std::string(at.name) + (kept.optional ? "=" + set_default(kept, at.fallback) : ""));
  }
  for (const std::string& t : texts) o.text += t + ", ";
  o.text += "*, out=None";
  if (output_count(op) > 1) {
    PyStructSequence_Field fields[kMaxOutputs + 1] = {};
    static std::deque<std::string> names;  // what the class looks at
    for (int i = 0; i < output_count(op); i++) fields[i].name = names.emplace_back(s.output(i)).c_str();
    PyStructSequence_Desc desc{names.emplace_back("ingot." + std::string(s.function()) + "_result").c_str(), op.doc,
                               fields, output_count(op)};
    o.results = reinterpret_cast<PyObject*>(PyStructSequence_NewType(&desc));
    if (o.results == nullptr) throw py::error_already_set();
  }
  return o;
}

// Calls ----------------------------------------------------------------------------------------------------------------

[[noreturn]] void refuse(const Function& f, const std::string& what) {
  std::string text = py::str(py::handle(f.name));
  text += ": " + what + " — ";
  for (size_t i = 0; i < f.overloads->size(); i++)
    text += (i > 0 ? ", or " : "") + std::string(py::str(py::handle(f.name))) + "(" + (*f.overloads)[i].text + ")";
  throw py::type_error(text);
}

std::string quoted(PyObject* name) { return "'" + std::string(py::str(py::handle(name))) + "'"; }

// What was given for each argument, in the order of the signature; null for what was not.
struct Given {
  PyObject* of[kMostParameters] = {};
  PyObject* out = nullptr;
  py::object rest;  // a list of integers that were given one by one: x.reshape(2, 3)
};

// Sorts arguments into their places. False if they do not fit, with the reason if it is asked for.
bool sort_in(const Overload& o, PyObject* const* args, Py_ssize_t count, PyObject* names, Given& given,
             std::string* why) {
  const auto most = static_cast<Py_ssize_t>(o.arguments.size());
  Py_ssize_t placed = count;
  if (count > 0 && most > 0 && most <= count && o.arguments[static_cast<size_t>(most - 1)].type == AttrType::kInts &&
      o.arguments[static_cast<size_t>(most - 1)].attr >= 0 && PyLong_Check(args[most - 1]) && count > most) {
    given.rest = py::tuple(static_cast<size_t>(count - most + 1));
    for (Py_ssize_t i = most - 1; i < count; i++) {
      Py_INCREF(args[i]);
      PyTuple_SET_ITEM(given.rest.ptr(), i - most + 1, args[i]);
    }
    given.of[most - 1] = given.rest.ptr();
    placed = most - 1;
  } else if (count > most) {
    if (why != nullptr) *why = std::to_string(count) + " arguments where it takes " + std::to_string(most);
    return false;
  }
  for (Py_ssize_t i = 0; i < placed; i++) given.of[i] = args[i];
  const Py_ssize_t named = names != nullptr ? PyTuple_GET_SIZE(names) : 0;
  for (Py_ssize_t k = 0; k < named; k++) {
    PyObject* name = PyTuple_GET_ITEM(names, k);
    PyObject* const value = args[count + k];
    if (name == out_name || PyUnicode_Compare(name, out_name) == 0) {
      given.out = value == Py_None ? nullptr : value;
      continue;
    }
    if (PyUnicode_Compare(name, axis_name) == 0) {  // as NumPy calls what may be several
      for (const Argument& a : o.arguments)
        if (a.name == axes_name) name = axes_name;
    }
    size_t i = 0;
    while (i < o.arguments.size() && o.arguments[i].name != name && PyUnicode_Compare(o.arguments[i].name, name) != 0)
      i++;
    if (i == o.arguments.size() || given.of[i] != nullptr) {
      if (why != nullptr)
        *why = i == o.arguments.size() ? "there is no argument " + quoted(name) : quoted(name) + " is given twice";
      return false;
    }
    given.of[i] = value;
  }
  for (size_t i = 0; i < o.arguments.size(); i++) {
    if (given.of[i] == Py_None) given.of[i] = nullptr;
    if (given.of[i] == nullptr && !o.arguments[i].optional && !o.arguments[i].variadic) {
      if (why != nullptr) *why = quoted(o.arguments[i].name) + " is missing";
      return false;
    }
  }
  return true;
}

// Would every argument be of the kind that this overload takes? A number is no tensor as long as another one takes numbers.
bool suits(const Overload& o, const Given& given) {
  for (size_t i = 0; i < o.arguments.size(); i++) {
    const Argument& a = o.arguments[i];
    if (given.of[i] == nullptr || a.variadic) continue;
    const bool tensor = tensor_in(given.of[i]) != nullptr ||
                        (!PyFloat_Check(given.of[i]) && !PyLong_Check(given.of[i]) && is_array(given.of[i]));
    if (a.input >= 0 ? !tensor : tensor && a.type != AttrType::kInts) return false;
  }
  return true;
}

void set_attr(const Function& f, Attrs& attrs, const Argument& a, PyObject* value) {
  const auto wrong = [&](const char* wanted) {
    refuse(f, quoted(a.name) + " must be " + wanted + ", not " + std::string(py::str(py::type::of(py::handle(value)))));
  };
  switch (a.type) {
    case AttrType::kFlag: {
      if (!PyBool_Check(value) && !PyLong_Check(value)) wrong("a bool");
      attrs.set(a.attr_name, PyObject_IsTrue(value) == 1);
      return;
    }
    case AttrType::kInt: {
      if (!PyIndex_Check(value)) wrong("an integer");
      attrs.set(a.attr_name, as_dims(value)[0]);
      return;
    }
    case AttrType::kReal: {
      const double number = PyFloat_AsDouble(value);
      if (number == -1 && PyErr_Occurred() != nullptr) PyErr_Clear(), wrong("a number");
      attrs.set(a.attr_name, number);
      return;
    }
    case AttrType::kInts: {
      if (!PyIndex_Check(value) && !PySequence_Check(value)) wrong("an integer or a list of integers");
      attrs.set(a.attr_name, as_dims(value));
      return;
    }
    case AttrType::kDType: attrs.set(a.attr_name, as_dtype(value)); return;
    case AttrType::kText: {
      Py_ssize_t size = 0;
      const char* text = PyUnicode_Check(value) ? PyUnicode_AsUTF8AndSize(value, &size) : nullptr;
      if (text == nullptr) wrong("a text");
      attrs.set(a.attr_name, std::string_view(text, static_cast<size_t>(size)));
      return;
    }
    case AttrType::kPointer: return;
  }
}

void set_fallback(Attrs& attrs, const Argument& a) {
  const Attr& d = a.fallback[0];
  switch (d.kind) {
    case Attr::Kind::kInt: attrs.set(a.attr_name, d.integer); return;
    case Attr::Kind::kReal: attrs.set(a.attr_name, d.real); return;
    case Attr::Kind::kInts: attrs.set(a.attr_name, d.ints); return;
    default: attrs.set(a.attr_name, d.text); return;
  }
}

// The inputs of one call; arrays and numbers among the arguments become tensors that live as long.
class Inputs {
 public:
  Inputs(const Function& f, const Overload& o, const Given& given) {
    for (size_t i = 0; i < o.arguments.size() && o.arguments[i].input >= 0; i++) add(f, o.arguments[i], given.of[i]);
    for (size_t i = 0; i < count_; i++)
      if (pointers_[i] == nullptr) pointers_[i] = &own_.emplace_back(full({}, numbers_[i], type_of_numbers()));
  }
  std::span<const Tensor* const> list() const { return {pointers_, count_}; }
  // Is there so much to do that others should run meanwhile?
  bool large() const {
    for (size_t i = 0; i < count_; i++)
      if (pointers_[i]->numel() > 50000 && !pointers_[i]->is_symbolic()) return true;
    return false;
  }

 private:
  void add(const Function& f, const Argument& a, PyObject* value) {
    if (a.variadic) return add_list(f, a, value);
    if (value == nullptr) return push(&none_);
    if (Tensor* t = tensor_in(value)) return push(t);
    if (PyFloat_Check(value) || PyLong_Check(value)) {
      numbers_[count_] = PyFloat_AsDouble(value);
      return push(nullptr);
    }
    if (!is_array(value))
      refuse(f, quoted(a.name) + " must be a tensor, not " + std::string(py::str(py::type::of(py::handle(value)))));
    push(&own_.emplace_back(as_tensor(value, "input")));
  }
  void add_list(const Function& f, const Argument& a, PyObject* value) {
    if (value == nullptr || tensor_in(value) != nullptr || PySequence_Check(value) == 0 || PyUnicode_Check(value))
      refuse(f, quoted(a.name) + " must be a list of tensors");
    for (const py::handle each : py::reinterpret_borrow<py::sequence>(value))
      push(&own_.emplace_back(as_tensor(each, op_name(f))));
  }
  static const char* op_name(const Function& f) { return f.overloads->front().op->name; }
  void push(const Tensor* t) {
    if (count_ == kMaxInputs)
      throw Error("inputs: more than " + std::to_string(kMaxInputs) + " tensors go into no call");
    pointers_[count_++] = t;
  }
  // A number beside tensors is of their type; masks do not count.
  DType type_of_numbers() const {
    for (size_t i = 0; i < count_; i++)
      if (pointers_[i] != nullptr && pointers_[i]->defined() && pointers_[i]->dtype() != kBool)
        return pointers_[i]->dtype();
    return kF32;
  }

  const Tensor* pointers_[kMaxInputs];
  double numbers_[kMaxInputs];
  size_t count_ = 0;
  Tensor none_;
  std::deque<Tensor> own_;
};

PyObject* run_into(const Function& f, const Overload& o, const Inputs& inputs, const Attrs& attrs, PyObject* out) {
  const Tensor* destinations[kMaxOutputs];
  const auto wanted = static_cast<size_t>(output_count(*o.op));
  const auto destination = [&](PyObject* object) {
    const Tensor* t = tensor_in(object);
    if (t == nullptr) refuse(f, "'out' must be a tensor" + std::string(wanted > 1 ? " for each result" : ""));
    return t;
  };
  if (wanted == 1) {
    destinations[0] = destination(out);
  } else {
    if (!PyTuple_Check(out) || static_cast<size_t>(PyTuple_GET_SIZE(out)) != wanted)
      refuse(f, "'out' must be a tuple of " + std::to_string(wanted) + " tensors");
    for (size_t i = 0; i < wanted; i++)
      destinations[i] = destination(PyTuple_GET_ITEM(out, static_cast<Py_ssize_t>(i)));
  }
  {
    const Unlocked unlocked(inputs.large());
    call_into(*o.op, inputs.list(), attrs, {destinations, wanted});
  }
  Py_INCREF(out);
  return out;
}

PyObject* run(const Function& f, const Overload& o, const Given& given) {
  const Inputs inputs(f, o, given);
  Attrs attrs;
  for (size_t i = 0; i < o.arguments.size(); i++) {
    const Argument& a = o.arguments[i];
    if (a.attr < 0) continue;
    if (given.of[i] != nullptr)
      set_attr(f, attrs, a, given.of[i]);
    else
      set_fallback(attrs, a);
  }
  if (given.out != nullptr) return run_into(f, o, inputs, attrs, given.out);
  Tensor results[kMaxOutputs];
  const auto count = static_cast<size_t>(output_count(*o.op));
  {
    const Unlocked unlocked(inputs.large());
    call(*o.op, inputs.list(), attrs, {results, count});
  }
  if (o.results == nullptr) return new_tensor(std::move(results[0]));
  PyObject* tuple = PyStructSequence_New(reinterpret_cast<PyTypeObject*>(o.results));
  if (tuple == nullptr) throw py::error_already_set();
  for (size_t i = 0; i < count; i++)
    PyStructSequence_SET_ITEM(tuple, static_cast<Py_ssize_t>(i), new_tensor(std::move(results[i])));
  return tuple;
}

PyObject* call_function(PyObject* self, PyObject* const* args, size_t flags, PyObject* names) {
  const Function& f = *reinterpret_cast<Function*>(self);
  const Py_ssize_t count = PyVectorcall_NARGS(flags);
  try {
    if (f.overloads->size() > 1) {
      for (const Overload& o : *f.overloads) {
        Given given;
        if (sort_in(o, args, count, names, given, nullptr) && suits(o, given)) return run(f, o, given);
      }
    }
    Given given;
    std::string why;
    if (!sort_in(f.overloads->front(), args, count, names, given, &why)) refuse(f, why);
    return run(f, f.overloads->front(), given);
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

PyObject* bind_to(PyObject* self, PyObject* object, PyObject*) {
  if (object != nullptr && object != Py_None) return PyMethod_New(self, object);
  Py_INCREF(self);
  return self;
}
PyObject* represent(PyObject* self) { return PyUnicode_FromFormat("<op %U>", reinterpret_cast<Function*>(self)->name); }

// The functions of the module ---------------------------------------------------------------------------------------------

void make_function_type() {
  static PyMemberDef members[] = {
      {"__vectorcalloffset__", T_PYSSIZET, offsetof(Function, vectorcall), READONLY, nullptr},
      {"__name__", T_OBJECT, offsetof(Function, name), READONLY, nullptr},
      {"__qualname__", T_OBJECT, offsetof(Function, name), READONLY, nullptr},
      {"__doc__", T_OBJECT, offsetof(Function, doc), READONLY, nullptr},
      {"__text_signature__", T_OBJECT, offsetof(Function, text_signature), READONLY, nullptr},
      {}};
  static PyType_Slot slots[] = {{Py_tp_members, members},
                                {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                                {Py_tp_descr_get, reinterpret_cast<void*>(bind_to)},
                                {Py_tp_repr, reinterpret_cast<void*>(represent)},
                                {0, nullptr}};
  static PyType_Spec spec{"ingot.Op", sizeof(Function), 0,
                          Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR |
                              Py_TPFLAGS_DISALLOW_INSTANTIATION,
                          slots};
  function_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (function_type == nullptr) throw py::error_already_set();
}

py::object make_function(const std::string& name, std::vector<Overload> overloads) {
  auto* f = PyObject_New(Function, function_type);
  if (f == nullptr) throw py::error_already_set();
  std::string doc;
  for (const Overload& o : overloads) doc += name + "(" + o.text + ")\n    " + o.op->doc + "\n";
  f->vectorcall = call_function;
  f->name = interned(name);
  f->doc = py::str(doc).release().ptr();
  f->text_signature = py::str("(" + overloads.front().text + ")").release().ptr();
  f->overloads = new std::vector<Overload>(std::move(overloads));
  return py::reinterpret_steal<py::object>(reinterpret_cast<PyObject*>(f));
}

bool is_method(const Op& op) {
  const Signature& s = op.signature;
  return s.input_count() > 0 && !s.input(0).optional && !s.input(0).variadic;
}

}  // namespace

void bind_ops(py::module_& m) {
  out_name = interned("out"), axis_name = interned("axis"), axes_name = interned("axes");
  make_function_type();
  m.attr("Op") = py::handle(reinterpret_cast<PyObject*>(function_type));
  std::vector<std::string> order;
  std::map<std::string, std::vector<Overload>> functions;
  py::dict table;  // name: [(signature, doc)], for stubs and tests
  for (const Op* op : all_ops()) {
    if (op->plumbing) continue;
    const std::string name(op->signature.function());
    if (functions.find(name) == functions.end()) order.push_back(name), table[name.c_str()] = py::list();
    functions[name].push_back(read(*op));
    table[name.c_str()].cast<py::list>().append(py::make_tuple(op->signature.text(), op->doc, op->family));
  }
  const py::handle tensor(reinterpret_cast<PyObject*>(tensor_type()));
  for (const std::string& name : order) {
    const bool method = is_method(*functions[name].front().op);
    const py::object function = make_function(name, std::move(functions[name]));
    m.attr(name.c_str()) = function;
    if (method && !py::hasattr(tensor, name.c_str())) tensor.attr(name.c_str()) = function;
  }
  m.attr("_table") = table;
}

}  // namespace ingot::python
