// The forms of ops that are not element-wise, a family in a file.
#pragma once
#include <span>

#include "exchange/c/forms.h"

namespace ingot::exchange {

std::span<const OpForm> move_forms();
std::span<const OpForm> index_forms();
std::span<const OpForm> reduce_forms();
std::span<const OpForm> softmax_forms();
std::span<const OpForm> norm_forms();
std::span<const OpForm> conv_forms();
std::span<const OpForm> pool_forms();
std::span<const OpForm> product_forms();
std::span<const OpForm> optimizer_forms();
std::span<const OpForm> random_forms();
std::span<const OpForm> recurrent_forms();
std::span<const OpForm> attention_forms();

// What families share.
/// Copies a view's elements to another of the same shape.
void copy_elements(Function& f, const View& to, const View& from);
/// Sets all elements to a number.
void fill_elements(Function& f, const View& to, const std::string& value);
/// The same elements with the last axis of each operand merged as far as their layouts allow.
/// A check that all elements of operand i are in [low, high).
void check_range(Function& f, int operand, const std::string& low, const std::string& high);
/// Names of vectors of the main type: $vec, $LANES, $LOAD, $STORE, $REGISTERS.
void vector_names(Function& f);
/// c = a·b in the words of product.cc: parameters or variables a, b, c are there.
void write_matrix_product(Function& f, const graph::Product& p, bool b_laid_out);
/// A part of a view, as an op of the table sees it.
View view_through(const char* op, const View& base, const Attrs& attrs, int64_t& offset);

}  // namespace ingot::exchange
