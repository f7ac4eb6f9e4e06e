// What this build and this machine can do with CUDA.
#pragma once

#include <string>

namespace hindsight::cuda {

struct DeviceReport {
  bool toolkit = false;  ///< built with the CUDA toolkit
  int devices = 0;       ///< usable devices on this machine
  std::string sentence;  ///< one sentence for a person: what is there, or why nothing is
};

/// Never throws and never crashes, whether or not a driver is installed.
DeviceReport report();

}  // namespace hindsight::cuda
