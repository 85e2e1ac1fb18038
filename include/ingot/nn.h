// Neural networks: modules, losses and training them.
//
//   nn::Sequential net{nn::Linear(784, 128), nn::ReLU(), nn::Linear(128, 10)};
//   auto step = nn::train_step(net, nn::cross_entropy, optim::Adam{.lr = 1e-3f}, {{64, 784}, {64}});
//   float loss = step(x, labels);                         // zero allocations
#pragma once
#include "ingot/data.h"           // IWYU pragma: export
#include "ingot/nn/attention.h"   // IWYU pragma: export
#include "ingot/nn/init.h"        // IWYU pragma: export
#include "ingot/nn/layers.h"      // IWYU pragma: export
#include "ingot/nn/loss.h"        // IWYU pragma: export
#include "ingot/nn/metrics.h"     // IWYU pragma: export
#include "ingot/nn/module.h"      // IWYU pragma: export
#include "ingot/nn/optim.h"       // IWYU pragma: export
#include "ingot/nn/recurrent.h"   // IWYU pragma: export
#include "ingot/nn/schedule.h"    // IWYU pragma: export
#include "ingot/nn/slab.h"        // IWYU pragma: export
#include "ingot/nn/train_step.h"  // IWYU pragma: export
#include "ingot/nn/trainer.h"     // IWYU pragma: export
