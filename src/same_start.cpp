#include "src/same_start.hpp"

#include <fmt/format.h>

#include <functional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "runtime/environment.hpp"
#include "runtime/error.hpp"
#include "runtime/kernel_cache.hpp"
#include "runtime/petsc_options.hpp"
#include "src/run_manifest.hpp"

namespace hindsight {
namespace {

/// @param tell says what differs, on a rank whose text is not that of rank 0, which it is given.
void require_same(const std::string& text, const Communicator& comm,
                  const std::function<std::string(const std::string& of_root)>& tell) {
  const std::string of_root = comm.broadcast(text);
  comm.agree(text == of_root ? "" : tell(of_root), static_cast<int>(ExitCode::bad_input));
}

/// As they were typed: those with blanks in quotes.
std::string words_of(int argc, char** argv) {
  std::string all;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const bool needs_quotes = word.empty() || word.find_first_of(" \t\n\"") != std::string::npos;
    all += (i > 1 ? " " : "") + (needs_quotes ? "\"" + word + "\"" : word);
  }
  return all;
}

template <class Value>
std::string digest(const std::vector<Value>& values) {
  return hash_text({reinterpret_cast<const char*>(values.data()), values.size() * sizeof(Value)});
}

using TableDigests = std::vector<std::pair<std::string, std::string>>;

void add_tables(const ProblemText& c, TableDigests& all) {
  for (const ParameterText& p : c.parameters)
    if (p.kind == ParameterText::Kind::series) all.emplace_back(p.file, digest(p.times) + digest(p.values));
  for (const TermText& term : c.objective)
    if (!term.data.empty()) all.emplace_back(term.data, digest(term.observations));
  if (!c.time.table.empty()) all.emplace_back(c.time.table, digest(c.time.rules.times));
}

/// Tables that were read with the case: file and digest.
TableDigests tables_of(const Case& c) {
  TableDigests all;
  add_tables(c, all);
  for (const Shot& shot : c.shots) add_tables(shot.problem, all);
  return all;
}

}  // namespace

void require_same_start(int argc, char** argv, const Communicator& comm) {
  if (comm.size() == 1) return;
  const std::string words = words_of(argc, argv);
  require_same(words, comm, [&](const std::string& of_root) {
    return fmt::format("rank {} was started with '{}', rank 0 with '{}': all ranks of a run do the same", comm.rank(),
                       words, of_root);
  });
  std::string program;
  comm.together([&] { program = program_identity(); });
  require_same(program, comm, [&](const std::string& of_root) {
    return fmt::format("rank {} is another program than rank 0: {} in place of {}", comm.rank(), program, of_root);
  });
  for (const char* const name : {"HINDSIGHT_CC", "HINDSIGHT_MARCH", "PETSC_OPTIONS"}) {
    const std::string value = environment(name);
    require_same(value, comm, [&](const std::string& of_root) {
      return fmt::format("{} is '{}' on rank {} and '{}' on rank 0: all ranks of a run do the same", name, value,
                         comm.rank(), of_root);
    });
  }
}

namespace {

/// Options of PETSc that something may read have a prefix.
void require_known_options(const std::string& options, const std::string& origin) {
  const auto require = [&](const std::string& word, bool is_known) {
    if (!is_known)
      throw InputError(origin + " nothing reads '" + word +
                       "': options of the solvers of implicit steps begin with -step_, those of constraints that are "
                       "solved by themselves with -constraint_, those of inversions with -tao_");
  };
  const std::vector<std::string> names = option_names(options);
  std::string first;
  std::istringstream(options) >> first;
  require(first, first.empty() || !option_names(first).empty());
  for (const std::string& name : names)
    require(name, name.starts_with("-step_") || name.starts_with("-constraint_") || name.starts_with("-tao_"));
}

}  // namespace

Case read_same_case(const Options& options, const Communicator& comm, bool is_to_be_observed) {
  Case c;
  comm.together([&] {
    try {
      c = read_case(options.target, options.set, options.shot, is_to_be_observed);
      require_known_options(c.petsc.in_case, c.petsc.origin());
      c.petsc.added = options.petsc;
      c.petsc_changes = options.petsc_changes;
      require_known_options(c.petsc.added, "--petsc:");
      if (!options.scratch.empty()) c.checkpoint_folder = options.scratch;
    } catch (const InputError& error) {
      if (comm.is_root()) throw;
      throw InputError(fmt::format("{} (on rank {})", error.what(), comm.rank()));
    }
  });
  if (comm.size() == 1) return c;
  require_same(c.resolved, comm, [&](const std::string& of_root) {
    return fmt::format("rank {} reads another case from '{}' than rank 0: {}", comm.rank(), options.target,
                       first_difference(of_root, c.resolved));
  });
  for (const auto& [file, digest] : tables_of(c))
    require_same(digest, comm, [&, name = file](const std::string&) {
      return fmt::format("rank {} reads other numbers from '{}' than rank 0", comm.rank(), name);
    });
  return c;
}

}  // namespace hindsight
