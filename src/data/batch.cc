#include "ingot/data/batch.h"

#include "ingot/base/error.h"

namespace ingot::data {

const Tensor* Batch::find(std::string_view name) const {
  const Tensor* found = nullptr;
  each([&](std::string_view n, const Tensor& t) {
    if (n == name) found = &t;
  });
  return found;
}

const Tensor& Batch::operator[](std::string_view name) const {
  if (const Tensor* found = find(name)) return *found;
  std::string names;
  each([&](std::string_view n, const Tensor&) { names.append(names.empty() ? "" : ", ").append(n); });
  throw Error("batch: no tensor \"" + std::string(name) + "\" — it has " + (names.empty() ? "none" : names));
}

int64_t Batch::size() const {
  if (x.defined()) return x.size(0);
  int64_t rows = 0;
  each([&](std::string_view, const Tensor& t) { rows = t.size(0); });
  return rows;
}

void Batch::set(std::string_view name, const Tensor& tensor) {
  if (name == "x" || name == "y") {
    (name == "x" ? x : y) = tensor;
    return;
  }
  for (NamedTensor& t : more)
    if (t.name == name) {
      t.tensor = tensor;
      return;
    }
  more.push_back({std::string(name), tensor});
}

}  // namespace ingot::data
