// What a program that writes files should do before all else.
#pragma once
#include "ingot/base/export.h"

namespace ingot {

/// Makes bad days of a process sentences. Descriptors 0 to 2 that are closed are opened, so that no file of the program's
/// becomes its standard output; writing to them fails as it would have. A limit on file sizes (ulimit -f) makes writes
/// fail instead of ending the program. A mapped file that somebody cuts off while it is read ends the program with a
/// sentence and `cut_off_code`: what it was to read is gone, and there is no way on.
INGOT_API void prepare_process(int cut_off_code);

}  // namespace ingot
