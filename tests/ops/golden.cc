#include "tests/ops/golden.h"

#include <fstream>
#include <sstream>
#include "tests/test_file.h"

namespace ingot::harness {
Tensor read_tensor(std::istringstream& line) {
  std::string type;
  line >> type;
  if (type == "none") return {};
  int rank = 0;
  line >> rank;
  Dims shape = Dims::filled(rank, 0);
  for (int64_t& size : shape) line >> size;
  Tensor t = Tensor::empty(shape, type == "f" ? kF64 : type == "b" ? kBool : type == "n" ? kI32 : kI64);
  for (int64_t i = 0; i < t.numel(); i++) {
    std::string value;
    line >> value;
    store_from_double(static_cast<char*>(t.raw()) + i * static_cast<int64_t>(size_of(t.dtype())), t.dtype(),
                      std::stod(value));
  }
  return t;
}

std::vector<Golden> read_goldens(const std::string& name) {
  std::ifstream file(test_file("goldens/" + name));
  std::vector<Golden> goldens;
  for (std::string text; std::getline(file, text);) {
    std::istringstream line(text);
    std::string kind;
    line >> kind;
    if (kind == "op") {
      goldens.emplace_back();
      line >> goldens.back().op;
    } else if (kind == "attr") {
      goldens.back().attrs.push_back(text.substr(5));
    } else {
      Golden& g = goldens.back();
      (kind == "in" ? g.in : kind == "out" ? g.out : kind == "dy" ? g.dy : g.grad).push_back(read_tensor(line));
    }
  }
  return goldens;
}

Attrs read_attrs(const Golden& g, DType dtype, std::vector<std::string>& texts) {
  Attrs attrs;
  texts.reserve(2 * g.attrs.size());
  for (const std::string& text : g.attrs) {
    std::istringstream line(text);
    std::string kind;
    std::string& name = texts.emplace_back();
    line >> name >> kind;
    std::string& value = texts.emplace_back();
    line >> value;
    if (kind == "int") {
      attrs.set(name, static_cast<int64_t>(std::stoll(value)));
    } else if (kind == "real") {
      attrs.set(name, std::stod(value));
    } else if (kind == "text") {
      attrs.set(name, std::string_view(value));
    } else if (kind == "dtype") {
      attrs.set(name, value == "F" ? dtype : value == "i64" ? kI64 : kBool);
    } else {
      Dims list = Dims::filled(std::stoi(value), 0);
      for (int64_t& v : list) line >> v;
      attrs.set(name, list);
    }
  }
  return attrs;
}

std::vector<Tensor> in_type(const std::vector<Tensor>& tensors, DType dtype) {
  std::vector<Tensor> result;
  result.reserve(tensors.size());
  for (const Tensor& t : tensors)
    result.push_back(t.defined() && t.dtype() == kF64 ? mapped(
                                                            t, [](double v, size_t) { return v; }, dtype)
                                                      : t);
  return result;
}

}  // namespace ingot::harness
