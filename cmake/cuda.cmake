# What the runtime's room takes in of CUDA: with the toolkit its static runtime, without it a stub. Nothing outside
# runtime/cuda sees the difference.
set(HINDSIGHT_DEVICE_LIBRARIES "")
set(HINDSIGHT_NOT_BUILT "/runtime/cuda/device.cpp")
if(NOT HINDSIGHT_CUDA STREQUAL "OFF")
  find_package(CUDAToolkit 12.8 QUIET)
  if(CUDAToolkit_FOUND)
    set(HINDSIGHT_DEVICE_LIBRARIES CUDA::cudart_static)
    set(HINDSIGHT_NOT_BUILT "/runtime/cuda/device_absent.cpp")
  elseif(HINDSIGHT_CUDA STREQUAL "ON")
    message(FATAL_ERROR "HINDSIGHT_CUDA=ON, but no CUDA toolkit was found")
  endif()
endif()
