#include "runtime/petsc.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <map>
#include <memory>
#include <new>

#include "runtime/error.hpp"
#include "runtime/memory.hpp"
#include "runtime/petsc_options.hpp"

namespace hindsight {
namespace {

/// What lies before each block of memory that PETSc gets.
struct alignas(64) BlockHead {
  std::int64_t bytes = 0;  // with this
  std::shared_ptr<MemoryAccount> account;
};

std::map<std::string, int> givers;  // of options, by their names, that live

std::string lacking;  // memory that PETSc did not get last, in words

PetscErrorCode allocate(std::size_t bytes, PetscBool is_cleared, int /*line*/, const char* /*function*/,
                        const char* /*file*/, void** memory) {
  *memory = nullptr;
  if (bytes == 0) return 0;
  const BlockHead head{static_cast<std::int64_t>(bytes + sizeof(BlockHead)), CountMemory::current()};
  try {
    void* const place = allocate_host(head.bytes, alignof(BlockHead));
    *memory = new (place) BlockHead(head) + 1;
  } catch (const std::exception& error) {
    lacking = error.what();
    return PETSC_ERR_MEM;
  }
  if (head.account) head.account->take_anyway(head.bytes);
  if (is_cleared == PETSC_TRUE) std::memset(*memory, 0, bytes);
  return 0;
}

PetscErrorCode release(void* memory, int /*line*/, const char* /*function*/, const char* /*file*/) {
  if (memory == nullptr) return 0;
  BlockHead* const place = static_cast<BlockHead*>(memory) - 1;
  const BlockHead head = *place;
  place->~BlockHead();
  free_host(place, head.bytes);
  if (head.account) head.account->give_back(head.bytes);
  return 0;
}

PetscErrorCode reallocate(std::size_t bytes, int line, const char* function, const char* file, void** memory) {
  void* const old = *memory;
  if (const PetscErrorCode code = allocate(bytes, PETSC_FALSE, line, function, file, memory); code != 0) return code;
  if (old == nullptr) return 0;
  const auto before = static_cast<std::size_t>((static_cast<BlockHead*>(old) - 1)->bytes) - sizeof(BlockHead);
  if (*memory != nullptr) std::memcpy(*memory, old, std::min(before, bytes));
  return release(old, line, function, file);
}

/// @throws ResourceError where memory lacked.
void require_memory(PetscErrorCode code, const char* what) {
  if (code == PETSC_ERR_MEM)
    throw ResourceError(fmt::format("PETSc failed to {} for lack of memory: {}", what, lacking));
}

}  // namespace

void start_petsc() {
  PetscBool is_started = PETSC_FALSE;
  PetscInitialized(&is_started);
  if (is_started == PETSC_TRUE) return;
  // Signals are the program's: to take PETSc's handlers away again would leave none, and SIGTERM would kill.
  check_petsc(PetscOptionsSetValue(nullptr, "-no_signal_handler", "true"), "start");
  // A file in somebody's home is no part of a run, which another may go on with.
  check_petsc(PetscOptionsSetValue(nullptr, "-skip_petscrc", "true"), "start");
  check_petsc(PetscMallocSet(allocate, release, reallocate), "start");
  PETSC_COMM_WORLD = MPI_COMM_SELF;
  check_petsc(PetscInitializeNoArguments(), "start");
}

void finish_petsc() {
  PetscBool is_started = PETSC_FALSE;
  PetscInitialized(&is_started);
  if (is_started == PETSC_TRUE) PetscFinalize();
}

GivenOptions::GivenOptions(const std::string& options, const std::string& what) {
  const PetscErrors errors;
  errors.check_options(PetscOptionsInsertString(nullptr, options.c_str()), what, options);
  names_ = option_names(options);
  for (const std::string& name : names_) ++givers[name];
}

GivenOptions::~GivenOptions() {
  PetscBool is_started = PETSC_FALSE;
  PetscInitialized(&is_started);
  for (const std::string& name : names_)
    if (--givers[name] == 0 && is_started == PETSC_TRUE) PetscOptionsClearValue(nullptr, name.c_str());
}

std::vector<std::string> unused_options(const std::string& options) {
  PetscInt count = 0;
  char **names = nullptr, **values = nullptr;
  const std::vector<std::string> given = option_names(options);
  PetscOptionsLeftGet(nullptr, &count, &names, &values);
  std::vector<std::string> unused;
  for (PetscInt i = 0; i < count; ++i)
    if (const std::string name = std::string("-") + names[i]; std::ranges::find(given, name) != given.end())
      unused.push_back(name);
  PetscOptionsLeftRestore(nullptr, &count, &names, &values);
  return unused;
}

std::vector<std::string> given_options() {
  char* text = nullptr;
  check_petsc(PetscOptionsGetAll(nullptr, &text), "look at options");
  std::string all = text != nullptr ? text : "";
  PetscFree(text);
  std::ranges::transform(all, all.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return option_names(all);
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
  require_memory(code, what);
  if (code != 0) throw Error(ExitCode::numerics, std::string("PETSc failed to ") + what);
}

void PetscErrors::check(PetscErrorCode code, const char* what) const {
  require_memory(code, what);
  if (code != 0) throw NumericsError(std::string("PETSc failed to ") + what + ": " + first_);
}

void PetscErrors::check_options(PetscErrorCode code, const std::string& what, const std::string& options) const {
  if (code != 0) throw InputError(what + " \"" + options + "\": PETSc refuses it: " + first_);
}

PetscErrorCode PetscErrors::keep(MPI_Comm /*comm*/, int /*line*/, const char* /*function*/, const char* /*file*/,
                                 PetscErrorCode code, PetscErrorType type, const char* message, void* self) {
  if (type == PETSC_ERROR_INITIAL && message != nullptr) static_cast<PetscErrors*>(self)->first_ = message;
  return code;
}

}  // namespace hindsight
