// The terminal as a screen: keys without Enter, a picture instead of lines; as it was before, however it ends.
#pragma once
#include <chrono>
#include <optional>
#include <string>

#include "ingot/base/export.h"

namespace ingot::recipe {

/// A key: the character that it types, or one of these. Ctrl-C and Ctrl-D are kQuit.
enum class KeyPress : int { kOther = 256, kUp, kDown, kLeft, kRight, kQuit };

/// While it lives, the terminal shows what show() draws and hands over every key. There is one at a time.
class INGOT_API Screen {
 public:
  Screen();
  ~Screen();
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  /// Are standard input and output a terminal?
  static bool possible();

  int rows() const;
  int columns() const;
  /// Draws lines from the top on, at most rows() of them; what was there before is gone.
  void show(const std::string& lines);
  /// The next key within the time, if there is one. A terminal that was closed says kQuit.
  std::optional<KeyPress> key(std::chrono::milliseconds wait);

 private:
  std::string typed_;  // bytes of keys not yet understood
};

/// The first key in `bytes`, which it is taken out of; none if they are its beginning only.
INGOT_API std::optional<KeyPress> take_key(std::string& bytes);

}  // namespace ingot::recipe
