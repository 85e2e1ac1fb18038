// Does the program make sense? Each step adds to the tree what the next one needs, or says what is wrong and where.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "logic/syntax.h"

namespace ingot::logic {

/// All steps below, in their order.
void check(Unit& unit);

/// Names: types of columns, relations of atoms, constants among names, queries as rules, hidden relations of groups.
void resolve_names(Unit& unit);
/// Bodies made simple: arguments of atoms are variables, constants or `_`; aggregates and ranges stand alone behind `x =`.
void flatten(Unit& unit);
/// A slot for every variable.
void number_variables(Unit& unit);
/// A type for every term, a value for every constant.
void infer_types(Unit& unit);
/// Every variable gets its values from somewhere; least and greatest values are used as such.
void check_safety(Unit& unit);

/// Which relations coins decide about; refuses what has no meaning for them.
void find_uncertain(Unit& unit);

/// Calls f on each variable of a term; those of an aggregate's inside are not among them.
void each_variable(const Term& term, const std::function<void(const Term&)>& f);
/// The same for a literal.
void each_variable(const Literal& literal, const std::function<void(const Term&)>& f);
/// Is it `x = aggregate`, or `x = range(…)`?
bool is_generator(const Literal& literal);

/// Relations that depend on each other, in the order in which they can be computed.
struct Stratum {
  std::vector<int> relations;
  bool recursive = false;
};
/// Refuses a program in which a relation depends on its own negation, and shows the cycle.
std::vector<Stratum> stratify(const Unit& unit);

}  // namespace ingot::logic
