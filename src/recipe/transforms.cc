// Random changes of training samples by their names in a description.
#include "recipe/core_types.h"

namespace ingot::recipe {
namespace {

struct TransformRow {
  Choice choice;
  data::TransformPtr (*make)(const Settings&);
};
const TransformRow kTransforms[] = {
    {{"shift",
      "moves pictures",
      {{"pixels", Kind::kInteger, "1", "at most so far, along both axes", 0, 4096},
       {"fill", Kind::kNumber, "0.0", "what comes in from outside"}}},
     [](const Settings& s) { return data::shift(s.integer("pixels"), static_cast<float>(s.number("fill"))); }},
    {{"crop",
      "cuts windows out of pictures; tests see the window in the middle",
      {{"height", Kind::kInteger, "", "of the window", 1, 65536},
       {"width", Kind::kInteger, "", "of the window", 1, 65536}}},
     [](const Settings& s) { return data::crop(s.integer("height"), s.integer("width")); }},
    {{"flip", "mirrors half of the pictures, left to right"}, [](const Settings&) { return data::flip(); }},
    {{"noise", "adds normal noise", {{"deviation", Kind::kNumber, "0.1", "of the noise", 0}}},
     [](const Settings& s) { return data::noise(static_cast<float>(s.number("deviation"))); }},
};

}  // namespace

Choices transform_choices() {
  Choices all;
  add_choices(all, kTransforms);
  return all;
}

data::TransformPtr make_transform(const Value& table) { return row_of(kTransforms, table).make(Settings(table)); }

}  // namespace ingot::recipe
