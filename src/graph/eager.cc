#include "ingot/graph/eager.h"

#include "ops/call.h"

namespace ingot {

Eager::Eager() : before_(set_recorder(nullptr)) {}
Eager::~Eager() { set_recorder(static_cast<Recorder*>(before_)); }

}  // namespace ingot
