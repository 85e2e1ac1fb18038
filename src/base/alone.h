// For threads that work beside the pool.
#pragma once

namespace ingot {

/// From now on, whatever the calling thread runs, it runs alone: a thread in the background would else take the pool
/// from the work in the foreground, which would then run on one thread.
void keep_off_the_pool();

}  // namespace ingot
