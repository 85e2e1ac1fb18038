// The types that this library has itself: of layers, losses, optimisers, schedules, sources and transforms.
#pragma once
#include <span>

#include "ingot/nn/optim.h"
#include "ingot/nn/schedule.h"
#include "ingot/recipe/system.h"

namespace ingot::recipe {

std::span<const LayerType> core_layers();
std::span<const LossType> core_losses();
std::span<const SourceType> core_sources();

Choices transform_choices();
data::TransformPtr make_transform(const Value& table);

Choices optimizer_choices();
Optimizer make_optimizer(const Value& section);
Choices schedule_choices();
schedule::Schedule make_schedule(const Value& section);

/// The row of a table that a completed section's type names; its rows have a Choice each.
template <class Rows>
const auto& row_of(const Rows& rows, const Value& table) {
  Choices all;
  add_choices(all, rows);
  const Choice* choice = &chosen(table, all);
  for (const auto& row : rows)
    if (&row.choice == choice) return row;
  return *std::begin(rows);  // not reached: chosen() found it
}

// What the core's sources are made of, a file each.
DataSource load_text(const SourceRequest& r);
std::vector<SourceType> file_sources();

/// The places of these columns in a table with a header; an Error if it lacks one.
std::vector<int64_t> columns_named(const io::Csv& table, const std::vector<std::string>& names);

}  // namespace ingot::recipe
