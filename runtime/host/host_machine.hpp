// This process's memory and cores as a machine.
#pragma once

#include "runtime/machine.hpp"

namespace hindsight {

/// The host's memory, whoever provides it.
class HostMachine : public Machine {
 public:
  std::string description() const override { return "host"; }
  bool is_host() const final { return true; }
  bool is_open_to_mpi() const final { return true; }
  void* allocate(std::int64_t bytes, std::int64_t alignment) override;
  void free(void* memory, std::int64_t bytes) override;
  void clear(double* at, std::int64_t count) final;
  void copy(double* to, const double* from, std::int64_t count) final;
  std::unique_ptr<Machine> with_own_account() const final;
  std::int64_t free_bytes() const final;
  std::unique_ptr<Event> event(Waiting waiting) final;
  std::unique_ptr<Link> link() final;
  Machine& near_host() final { return *this; }
  std::unique_ptr<device::Program> load(const std::string&, const std::vector<device::KernelName>&,
                                        const Communicator&) final;
};

}  // namespace hindsight
