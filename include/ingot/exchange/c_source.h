// A plan as C: one C99 file and its header, for places where no library goes. No allocation, no library but math.h (or not
// even that), memory that is known beforehand; inference and training alike.
//
//   exchange::CSource c = exchange::to_c(plan, {.name = "net"});
//   c.write("out");                          // out/net.c and out/net.h, with net_run(inputs…, outputs…)
//
// The file computes what the plan computes, within the ops' own rounding. It is read-only code: several may be linked
// into one program.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "ingot/base/export.h"
#include "ingot/graph/plan.h"

namespace ingot::exchange {

struct CSourceOptions {
  /// What all that the header declares begins with; empty: the plan's name. Made a C name if it is none.
  std::string name = {};
  /// The file has its memory itself (static), so there is one run at a time. If not, the caller hands it over.
  bool own_memory = true;
  /// Weights and first values of memory in a file of their own, NAME_weights.c.
  bool weights_apart = false;
  /// Use math.h. If not, the file brings its own exp, log, … along.
  bool math = true;
};

struct CSource {
  std::string name;     // a C name
  std::string header;   // NAME.h
  std::string source;   // NAME.c
  std::string weights;  // NAME_weights.c, empty unless weights are apart
  /// Bytes of temporaries: what the plan's arena, scratch and results take, or less.
  size_t arena = 0;
  /// Bytes of memory that outlives a run and may change: what the plan is bound to and is not frozen, such as parameters,
  /// gradients and the optimiser's state of a training step.
  size_t state = 0;
  /// Bytes of constants.
  size_t constants = 0;
  /// Writes the files into a folder, which is made if it is not there.
  INGOT_API void write(const std::string& folder) const;
};

/// The plan as C. An Error that lists all ops that have no form in C, with how often they occur, if there are any.
INGOT_API CSource to_c(const Plan& plan, const CSourceOptions& options = {});

/// Does the op have a form in C?
INGOT_API bool has_c_form(const Op& op);

}  // namespace ingot::exchange
