// Data: samples by number, and a loader that turns them into batches while the last one is being trained on.
//
//   data::TensorDataset digits(images, labels);
//   auto [train, test] = data::split(digits, 0.2, /*seed=*/1);
//   data::Loader loader(train, {.batch = 64, .shuffle = true, .transforms = {data::shift(1)}});
//   for (const data::Batch& batch : loader) step(batch.x, batch.y);        // one epoch; zero allocations
#pragma once
#include "ingot/data/batch.h"       // IWYU pragma: export
#include "ingot/data/batch_size.h"  // IWYU pragma: export
#include "ingot/data/dataset.h"     // IWYU pragma: export
#include "ingot/data/loader.h"      // IWYU pragma: export
#include "ingot/data/transforms.h"  // IWYU pragma: export
