// What goes into a checkpoint and comes back from it: memory as bytes, numbers as text. What does not fit is an Error.
#pragma once
#include <cstddef>
#include <span>
#include <string>

#include "ingot/base/export.h"
#include "ingot/nn/trainer.h"

namespace ingot::rl {

/// Adds memory to a state, by reference: it must be written to its file before the memory changes.
INGOT_API void save_memory(nn::TrainingState& state, const std::string& name, std::span<const std::byte> memory);
/// Fills memory with what was saved under that name.
INGOT_API void load_memory(const nn::TrainingState& state, const std::string& name, std::span<std::byte> memory);

INGOT_API void save_number(nn::TrainingState& state, const std::string& name, int64_t value);
INGOT_API void save_number(nn::TrainingState& state, const std::string& name, double value);
INGOT_API int64_t saved_integer(const nn::TrainingState& state, const std::string& name);
/// A number of things that a run has counted: from 0 to 2⁴⁰, so that nothing overflows that goes on from it.
INGOT_API int64_t saved_count(const nn::TrainingState& state, const std::string& name);
/// Anything else that a checkpoint cannot hold: an Error with this sentence.
[[noreturn]] INGOT_API void refuse_saved(const std::string& what);
INGOT_API double saved_real(const nn::TrainingState& state, const std::string& name);
/// The tensor of that name, of the type and shape of `like`.
INGOT_API const Tensor& saved_tensor(const nn::TrainingState& state, const std::string& name, const Tensor& like);

}  // namespace ingot::rl
