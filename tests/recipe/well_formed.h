// Is a page well formed?
#pragma once
#include <string>
#include <vector>

namespace ingot::recipe {

/// What is wrong with the nesting and quoting of `page`, read as strict XML after its first line; empty if nothing is.
inline std::string fault_of(const std::string& page) {
  std::vector<std::string> open;
  size_t i = page.find('\n');
  while (i < page.size()) {
    if (page[i] == '&') {
      const size_t end = page.find(';', i);
      const std::string name = page.substr(i, end - i + 1);
      if (name != "&amp;" && name != "&lt;" && name != "&gt;" && name != "&quot;")
        return "bare & at " + page.substr(i, 30);
    }
    if (page[i] != '<') {
      i++;
      continue;
    }
    const std::string here = page.substr(i, 60);
    const bool closes = page[++i] == '/';
    if (closes) i++;
    const size_t name_end = page.find_first_of(" />\n", i);
    const std::string name = page.substr(i, name_end - i);
    if (name.empty() || name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789") != std::string::npos)
      return "no tag: " + here;
    i = name_end;
    while (page[i] != '>' && page[i] != '/') {  // attributes
      if (page[i] == ' ' || page[i] == '\n') {
        i++;
        continue;
      }
      const size_t equals = page.find('=', i);
      if (equals == std::string::npos || page[equals + 1] != '"' ||
          page.substr(i, equals - i).find_first_of(" <>\"/") != std::string::npos)
        return "attribute without quotes: " + here;
      const size_t quote = page.find('"', equals + 2);
      if (page.substr(equals + 2, quote - equals - 2).find('<') != std::string::npos) return "< in attribute: " + here;
      i = quote + 1;
    }
    const bool empty = page[i] == '/';
    i = page.find('>', i) + 1;
    if (closes) {
      if (open.empty() || open.back() != name) return "closes what is not open: " + here;
      open.pop_back();
    } else if (!empty) {
      open.push_back(name);
    }
  }
  return open.empty() ? "" : "never closed: " + open.back();
}

/// How often a text has another in it.
inline int times(const std::string& text, const std::string& what) {
  int n = 0;
  for (size_t i = text.find(what); i != std::string::npos; i = text.find(what, i + 1)) n++;
  return n;
}

}  // namespace ingot::recipe
