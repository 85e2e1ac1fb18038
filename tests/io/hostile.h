// What every reader must survive: its own files cut off at every byte and with flipped bits, and headers that lie. The
// answer is an Error or a tensor, never anything else, and never memory that the file does not justify.
#pragma once
#include <cstddef>
#include <functional>
#include <string>

namespace ingot::io {

/// The most memory that was held at one time, by tensors and by operator new, beyond what was held at the beginning.
class MemoryWatch {
 public:
  MemoryWatch();
  size_t most() const;

 private:
  size_t held_, tensors_, peak_;
};

using Reader = std::function<void(const std::string& bytes)>;

/// Reads every beginning of `file`; all but the whole must be refused (`whole_only`), or may be.
void cut_everywhere(const std::string& file, const Reader& read, bool whole_only = true);
/// Reads `file` with one to four bits flipped, `times` times; what is read must fit into `most_bytes` of memory.
void flip_bits(const std::string& file, const Reader& read, int times, size_t most_bytes);
/// Expects an Error with `words`, for at most `most_bytes` of memory.
void expect_refused(const std::string& file, const Reader& read, const std::string& words, size_t most_bytes = 1 << 20);

}  // namespace ingot::io
