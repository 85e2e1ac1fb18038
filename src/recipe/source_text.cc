// [data] of type text: characters, numbered by the vocabulary.
#include <fmt/format.h>

#include <algorithm>

#include "ingot/recipe/sampling.h"
#include "recipe/core_types.h"

namespace ingot::recipe {

DataSource load_text(const SourceRequest& r) {
  const Settings& s = r.s;
  const std::string text = read_source(s.text("file"), r.catalogue);
  DataSource out;
  std::string& vocabulary = out.task.vocabulary;
  if (r.trained != nullptr) {
    vocabulary = r.trained->vocabulary;
  } else {
    bool used[256] = {};
    for (const unsigned char c : text) used[c] = true;
    for (int c = 0; c < 256; c++)
      if (used[c]) vocabulary += static_cast<char>(c);
  }
  int32_t number[256];
  std::fill(std::begin(number), std::end(number), -1);
  for (size_t i = 0; i < vocabulary.size(); i++)
    number[static_cast<unsigned char>(vocabulary[i])] = static_cast<int32_t>(i);
  for (size_t i = 0; i < text.size(); i++)
    if (number[static_cast<unsigned char>(text[i])] < 0)
      s.fail("file", fmt::format("the model has never seen the character {} of this text", shown_character(text, i)));
  out.task.classes = static_cast<int64_t>(vocabulary.size());
  size_t first = 1;  // bytes of the first character: UTF-8 goes on with 10xxxxxx
  while (first < text.size() && (static_cast<unsigned char>(text[first]) & 0xc0) == 0x80) first++;
  out.prompt = vocabulary.find('\n') != std::string::npos ? "\n" : text.substr(0, first);

  const auto held = static_cast<size_t>(s.number("held_back") * static_cast<double>(text.size()));
  const auto tokens = [&](size_t begin, size_t end) {
    std::vector<int32_t> list;
    for (size_t i = begin; i < end; i++) list.push_back(number[static_cast<unsigned char>(text[i])]);
    return list;
  };
  const int64_t length = s.integer("length");
  out.shuffle = !s.flag("continuous");
  out.task.rows = out.shuffle ? 0 : r.batch;
  out.train = std::make_unique<data::TokenDataset>(tokens(0, text.size() - held), length, out.shuffle ? 0 : r.batch);
  // A test without a state to go on with takes the rows that there is text for.
  const int64_t rows = std::max<int64_t>(1, (static_cast<int64_t>(held) - 1) / length);
  if (held > 0)
    out.test = std::make_unique<data::TokenDataset>(tokens(text.size() - held, text.size()), length,
                                                    out.shuffle ? std::min(r.batch, rows) : r.batch);
  return out;
}

}  // namespace ingot::recipe
