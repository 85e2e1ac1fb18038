#include "logic/source.h"

#include <algorithm>

#include "ingot/base/text.h"

namespace ingot::logic {
namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

}  // namespace

int Sources::add(std::string name, std::string text) {
  const size_t begin = files_.empty() ? 0 : static_cast<size_t>(files_.back().begin) + files_.back().text.size() + 1;
  if (begin + text.size() > (1u << 30))
    throw Error("logic: the text of the program is longer than 1 GiB — put facts into files");
  files_.push_back({std::move(name), std::move(text), static_cast<int>(begin)});
  return files_.back().begin;
}

const Sources::File& Sources::file(int at) const {
  auto after = std::upper_bound(files_.begin(), files_.end(), at, [](int a, const File& f) { return a < f.begin; });
  return after == files_.begin() ? *after : *std::prev(after);
}

std::vector<std::string> Sources::names() const {
  std::vector<std::string> all;
  for (const File& f : files_) all.push_back(f.name);
  return all;
}

std::string_view Sources::text(int at) const {
  const File& f = file(at);
  return std::string_view(f.text).substr(static_cast<size_t>(at - f.begin));
}

int Sources::line(int at) const {
  const File& f = file(at);
  return 1 + static_cast<int>(std::count(f.text.begin(), f.text.begin() + (at - f.begin), '\n'));
}

void Sources::fail(int at, const std::string& what, const std::string& hint) const {
  const std::string message = what + (hint.empty() ? "" : " — " + hint);
  if (files_.empty()) throw Error("logic: " + message);
  const File& f = file(at);
  const std::string_view text = f.text;
  const size_t offset = std::min(static_cast<size_t>(at - f.begin), text.size());
  const size_t begin = offset == 0 ? 0 : text.rfind('\n', offset - 1) + 1;  // npos + 1 is 0
  const size_t end = std::min(text.find('\n', offset), text.size());
  const int column = text_width(valid_utf8(text.substr(begin, offset - begin)));
  std::string shown = valid_utf8(text.substr(begin, end - begin));
  for (char& c : shown)
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  size_t length = 1;
  while (offset + length < end && is_word(text[offset]) && is_word(text[offset + length])) length++;
  constexpr int kMost = 160;  // a line that a terminal can show
  std::string picture;
  if (text_width(shown) <= kMost)
    picture =
        "\n  " + shown + "\n  " + std::string(static_cast<size_t>(column), ' ') + '^' + std::string(length - 1, '~');
  throw Error(f.name + ":" + std::to_string(line(at)) + ":" + std::to_string(column + 1) + ": " + message + picture);
}

}  // namespace ingot::logic
