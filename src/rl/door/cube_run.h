// Runs that learned a cube, as the commands see them.
#pragma once
#include "ingot/rl/cube2.h"
#include "ingot/rl/net.h"

namespace ingot::rl::door {

/// Which cube a run knows, how its network sees it, and the network: it values states (one number) or turns (one each).
struct CubeKnowledge {
  int size = 0;  // 0: it knows no cube
  CubeEncoding encoding = CubeEncoding::kCubies;
  QNet* network = nullptr;
};

class CubeRun {
 public:
  virtual ~CubeRun() = default;
  virtual CubeKnowledge knowledge() = 0;
};

}  // namespace ingot::rl::door
