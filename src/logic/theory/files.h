// Theories and files: members of domains, truths and numbers, in and out.
#pragma once
#include <string>
#include <vector>

#include "logic/theory/syntax.h"

namespace ingot::logic {

/// What stands in these columns (from 1) of a file, each word once, in the order in which they come.
std::vector<std::string> read_members(const TheoryUnit& unit, const std::string& file,
                                      const std::vector<int64_t>& columns);
/// Elements of a relation or tensor from the file that it names: .npy and .safetensors have all of them; in other files a line
/// is a fact, its columns between commas (.csv) or tabs, with one more column for a truth or a number.
void read_elements(const TheoryUnit& unit, TheoryTensor& t);
/// Writes these elements the same way. Of a relation's facts only those that something is said about.
void write_elements(const TheoryUnit& unit, const TheoryTensor& t, const Tensor& elements, const std::string& path);
/// Where a file that the program names is, for a folder.
std::string path_in(const std::string& folder, const std::string& file);

}  // namespace ingot::logic
