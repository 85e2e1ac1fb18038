// How each op, and each kind of record, is written in C.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "exchange/c/file.h"

namespace ingot::exchange {

/// An element-wise op as an expression of its inputs $a, $b, $c and its constants $p, $q; what comes before the last "; "
/// are names for parts of it. `integer` is for i32, i64 and u8, empty if the same.
struct ElementForm {
  std::string_view op;
  const char* real;
  const char* integer = "";
};
const ElementForm* find_element_form(std::string_view op);

/// An op that is no element-wise one. `write` fills in the function; `check` a function that returns 1 for values that
/// the op refuses.
struct OpForm {
  std::string_view op;
  void (*write)(Function&);
  void (*check)(Function&) = nullptr;
  const char* refuses = "";  // what the check says, after the op's name
};
const OpForm* find_op_form(std::string_view op);

// Kinds of records: fill in the function of one.
void write_element_op(Function& f);
void write_chain(Function& f);
void write_fold(Function& f);
void write_product(Function& f);

/// Axes that follow each other in all layouts become one; those before `cut` stay apart from those behind it.
void merge_axes(Dims& shape, std::vector<View*>& views, int& cut);

}  // namespace ingot::exchange
