// PETSc's life, and what it says of its failures.
#pragma once

#include <petscsys.h>

#include <string>
#include <utility>
#include <vector>

namespace hindsight {

/// Starts PETSc unless it is started already: it lives as long as the process. PETSc's world is this process alone, as
/// others may not use it; objects have communicators of their own. Its memory counts in the account of whoever makes it
/// (CountMemory), but for what other packages that it calls take for themselves; amid what ranks do together one of
/// them cannot refuse it, so that the account may be overdrawn.
void start_petsc();
/// Ends PETSc if it was started; before MPI_Finalize.
void finish_petsc();

/// Gives PETSc options (as on its command line), for all objects to come, while it lives, or another that gives an
/// option of the same name: PETSc reads some whenever a solver is set up anew.
class GivenOptions {
 public:
  /// @throws InputError that begins with `what`.
  GivenOptions(const std::string& options, const std::string& what);
  ~GivenOptions();
  GivenOptions(const GivenOptions&) = delete;
  GivenOptions& operator=(const GivenOptions&) = delete;

 private:
  std::vector<std::string> names_;
};
/// The names of all options that PETSc has, from wherever; in lower case, in which PETSc compares them.
std::vector<std::string> given_options();
/// Those of `options` (as on PETSc's command line) that nothing has asked for: misspelt, or of another method.
std::vector<std::string> unused_options(const std::string& options);

/// While it lives, PETSc has these options where it was given no others by their names.
class DefaultOptions {
 public:
  using Options = std::vector<std::pair<std::string, std::string>>;  // name ("-step_pc_type") and value
  explicit DefaultOptions(const Options& options);
  ~DefaultOptions();
  DefaultOptions(const DefaultOptions&) = delete;
  DefaultOptions& operator=(const DefaultOptions&) = delete;

 private:
  std::vector<std::string> set_;
};

/// @throws ResourceError where memory lacks, Error(numerics) "PETSc failed to ..." for what can only be a bug.
void check_petsc(PetscErrorCode code, const char* what);

/// While it lives, PETSc reports errors by codes, and what it said first about them is kept.
class PetscErrors {
 public:
  PetscErrors() { PetscPushErrorHandler(keep, this); }
  ~PetscErrors() { PetscPopErrorHandler(); }
  PetscErrors(const PetscErrors&) = delete;
  PetscErrors& operator=(const PetscErrors&) = delete;
  const std::string& first() const { return first_; }
  /// Of taking options. @throws InputError that begins with `what` and the options as they were given.
  void check_options(PetscErrorCode code, const std::string& what, const std::string& options) const;
  /// @throws NumericsError "PETSc failed to ...: ...", ResourceError where memory lacks.
  void check(PetscErrorCode code, const char* what) const;

 private:
  static PetscErrorCode keep(MPI_Comm comm, int line, const char* function, const char* file, PetscErrorCode code,
                             PetscErrorType type, const char* message, void* self);
  std::string first_;
};

}  // namespace hindsight
