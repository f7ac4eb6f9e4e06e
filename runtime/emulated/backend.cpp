#include "runtime/emulated/backend.hpp"

#include "runtime/emulated/emulated_device.hpp"

namespace hindsight {
namespace {

class EmulatedBackend final : public Backend {
 public:
  std::string name() const override { return "emulated"; }
  std::string help() const override { return "a device's programs run by the host, slowly, to find mistakes"; }
  std::string missing() const override { return ""; }
  std::shared_ptr<Machine> open(const Communicator&) const override { return emulated::open_machine(); }
  std::string kernel_setting() const override { return ""; }
  std::optional<BackendReport> report() const override { return std::nullopt; }
  std::optional<CompiledKernels> compile(const std::string&) const override { return std::nullopt; }
};

}  // namespace

const Backend& emulated::backend() {
  static const EmulatedBackend backend;
  return backend;
}

}  // namespace hindsight
