// The kinds of machines that can be asked for by name.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/communicator.hpp"
#include "runtime/device_program.hpp"
#include "runtime/machine.hpp"

namespace hindsight {

/// What a backend's compiler makes of kernels.
struct CompiledKernels {
  std::string architecture;  ///< that they were compiled for, "sm_90"
  std::string compiler;      ///< a sentence
  std::vector<device::KernelResources> kernels;
};

/// What there is of a backend on this computer.
struct BackendReport {
  std::string title;     ///< "CUDA"
  std::string sentence;  ///< for a person
  /// For a program: keys and values.
  std::vector<std::pair<std::string, std::variant<std::string, bool, int>>> facts;
};

/// A kind of machine. Asking about it never fails, whether or not there is one.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string name() const = 0;
  /// A few words on what it is, for a list of all; may be empty.
  virtual std::string help() const = 0;
  /// Why it cannot be opened here, as sentences; empty: it can.
  virtual std::string missing() const = 0;
  /// Opens a machine, which must outlive what is made on it. Collective. @throws ResourceError saying why there is
  /// none.
  virtual std::shared_ptr<Machine> open(const Communicator& comm) const = 0;
  /// What its kernels' bits depend on, beside what the host's depend on.
  virtual std::string kernel_setting() const = 0;
  /// Nothing where there is nothing to tell.
  virtual std::optional<BackendReport> report() const = 0;
  /// Compiles a program's text (runtime/device_program.hpp), with or without a device; nothing where kernels are not
  /// such programs. @throws ResourceError when its compiler is missing or fails.
  virtual std::optional<CompiledKernels> compile(const std::string& text) const = 0;
};

/// All of them, the default first.
const std::vector<const Backend*>& backends();
/// @throws InputError naming what there is.
const Backend& find_backend(const std::string& name);

}  // namespace hindsight
