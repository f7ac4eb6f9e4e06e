#include "runtime/petsc.hpp"

#include <sstream>

#include "runtime/error.hpp"

namespace hindsight {

void start_petsc() {
  PetscBool is_started = PETSC_FALSE;
  PetscInitialized(&is_started);
  if (is_started == PETSC_TRUE) return;
  // Signals are the program's: to take PETSc's handlers away again would leave none, and SIGTERM would kill.
  check_petsc(PetscOptionsSetValue(nullptr, "-no_signal_handler", "true"), "start");
  // A file in somebody's home is no part of a run, which another may go on with.
  check_petsc(PetscOptionsSetValue(nullptr, "-skip_petscrc", "true"), "start");
  PETSC_COMM_WORLD = MPI_COMM_SELF;
  check_petsc(PetscInitializeNoArguments(), "start");
}

void finish_petsc() {
  PetscBool is_started = PETSC_FALSE;
  PetscInitialized(&is_started);
  if (is_started == PETSC_TRUE) PetscFinalize();
}

void set_options(const std::string& options, const std::string& what) {
  const PetscErrors errors;
  if (PetscOptionsInsertString(nullptr, options.c_str()) != 0)
    throw InputError(what + " \"" + options + "\": PETSc refuses it: " + errors.first());
}

void clear_options(const std::string& options, const std::string& prefix) {
  std::istringstream words(options);
  for (std::string word; words >> word;)
    if (word.starts_with(prefix)) PetscOptionsClearValue(nullptr, word.c_str());
}

std::vector<std::string> unused_options(const std::string& options) {
  PetscInt count = 0;
  char **names = nullptr, **values = nullptr;
  PetscOptionsLeftGet(nullptr, &count, &names, &values);
  std::vector<std::string> unused;
  for (PetscInt i = 0; i < count; ++i)
    if (const std::string name = std::string("-") + names[i]; (options + " ").find(name + " ") != std::string::npos)
      unused.push_back(name);
  PetscOptionsLeftRestore(nullptr, &count, &names, &values);
  return unused;
}

DefaultOptions::DefaultOptions(const Options& options) {
  for (const auto& [name, value] : options) {
    PetscBool is_given = PETSC_FALSE;
    PetscOptionsHasName(nullptr, nullptr, name.c_str(), &is_given);
    if (is_given == PETSC_TRUE) continue;
    PetscOptionsSetValue(nullptr, name.c_str(), value.c_str());
    set_.push_back(name);
  }
}

DefaultOptions::~DefaultOptions() {
  for (const std::string& name : set_) PetscOptionsClearValue(nullptr, name.c_str());
}

void check_petsc(PetscErrorCode code, const char* what) {
  if (code != 0) throw Error(ExitCode::numerics, std::string("PETSc failed to ") + what);
}

void PetscErrors::check(PetscErrorCode code, const char* what) const {
  if (code != 0) throw NumericsError(std::string("PETSc failed to ") + what + ": " + first_);
}

PetscErrorCode PetscErrors::keep(MPI_Comm /*comm*/, int /*line*/, const char* /*function*/, const char* /*file*/,
                                 PetscErrorCode code, PetscErrorType type, const char* message, void* self) {
  if (type == PETSC_ERROR_INITIAL && message != nullptr) static_cast<PetscErrors*>(self)->first_ = message;
  return code;
}

}  // namespace hindsight
