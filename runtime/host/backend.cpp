#include "runtime/host/backend.hpp"

namespace hindsight {
namespace {

class HostBackend final : public Backend {
 public:
  std::string name() const override { return "host"; }
  std::string help() const override { return ""; }
  std::string missing() const override { return ""; }
  std::shared_ptr<Machine> open(const Communicator&) const override {
    return {std::shared_ptr<void>(), &Machine::host()};
  }
  std::string kernel_setting() const override { return ""; }
  std::optional<BackendReport> report() const override { return std::nullopt; }
  std::optional<CompiledKernels> compile(const std::string&) const override { return std::nullopt; }
};

}  // namespace

const Backend& host::backend() {
  static const HostBackend backend;
  return backend;
}

}  // namespace hindsight
