#include "runtime/backends.hpp"

#include "runtime/cuda/backend.hpp"
#include "runtime/emulated/backend.hpp"
#include "runtime/error.hpp"
#include "runtime/host/backend.hpp"
#include "runtime/nearest_name.hpp"

namespace hindsight {

const std::vector<const Backend*>& backends() {
  static const std::vector<const Backend*> all{&host::backend(), &cuda::backend(), &emulated::backend()};
  return all;
}

const Backend& find_backend(const std::string& name) {
  std::vector<std::string> names;
  for (const Backend* const backend : backends()) {
    if (backend->name() == name) return *backend;
    names.push_back(backend->name());
  }
  throw InputError("there is no backend '" + name + "'" + did_you_mean(name, names) + " (there are: " + join(names) +
                   ")");
}

}  // namespace hindsight
