// A session with a journal: what it has worked out is logged, and not worked out again.
#include <fmt/format.h>

#include "runtime/error.hpp"
#include "src/session.hpp"

namespace hindsight {

/// Does the work, unless the log has it. Failures of the numerics are logged and thrown again; where other options of
/// PETSc may mend them, which a resumed run may have, they are logged when the run goes on after them.
Session::Logged Session::once(const Work& work) {
  Logged result;
  has_failed_ = false;
  RunJournal* const journal = options_.journal;
  if (journal == nullptr) {
    evaluate(work, result);
    return result;
  }
  log_unlogged();
  result.kind = work.kind;
  const double values = dot(simulation().values(), simulation().values());
  const bool is_recalled = journal->recall([&](BlockReader& from) { read(from, result, values); });
  if (!is_recalled) {
    try {
      evaluate(work, result);
    } catch (const NumericsError& error) {
      progress_.finish();
      result.failure = error.what();
      if (solves_by_petsc(simulation().spec())) {
        unlogged_ = {result, values};
        journal->solvers_failed();
        throw;
      }
    } catch (const InputError&) {  // to go on would end alike
      has_failed_ = true;
      throw;
    }
  }
  if (!is_recalled || journal->is_new_log()) journal->log([&](BlockWriter& to) { write(to, result, values); });
  has_failed_ = !result.failure.empty();
  if (!is_recalled) journal->evaluation_done(result.evaluation.seconds, has_failed_);
  if (has_failed_) throw NumericsError(result.failure);
  return result;
}

/// Of one experiment, or of all shots.
void Session::evaluate(const Work& work, Logged& result) {
  if (has_shots()) return of_shots(work, result);
  if (options_.journal != nullptr) options_.journal->phase(work.kind, work.steps());
  work.evaluate(result.evaluation, result.derivative);
}

void Session::log_unlogged() {
  if (!unlogged_) return;
  options_.journal->log([&](BlockWriter& to) { write(to, unlogged_->first, unlogged_->second); });
  unlogged_.reset();
}

void Session::write(BlockWriter& to, const Logged& logged, double values) const {
  ArchiveWriter& archive = to.archive();
  archive.write(logged.kind);
  archive.write(values);
  archive.write(logged.failure);
  if (!logged.failure.empty()) return;
  has_shots() ? write_results(archive) : simulation().save_observed(to);
  const Evaluation& e = logged.evaluation;
  archive.write(e.objective);
  archive.write(logged.derivative);
  archive.write(e.seconds);
  save_counts(archive, e.counts);
  archive.write(!e.gradient.empty());
  for (std::size_t i = 0; i < e.gradient.size(); ++i) {
    if (simulation().spec().unknowns[i].is_field()) {
      to.block(owned_box(simulation().grid()), e.gradient[i]);
    } else {
      archive.write(e.gradient[i]);
    }
  }
}

void Session::read(BlockReader& from, Logged& logged, double values) {
  const auto kind = from.get<std::string>();
  const auto at = from.get<double>();
  if (kind != logged.kind || at != values)
    throw InputError(fmt::format(
        "cannot go on: the run asks for a {} at other values than the {} that it had worked out before; an optimiser "
        "whose unknowns are fields goes on with the same number of ranks only",
        logged.kind, kind));
  from.read(logged.failure);
  if (!logged.failure.empty()) return;
  has_shots() ? read_results(from) : simulation().restore_observed(from);
  Evaluation& e = logged.evaluation;
  from.read(e.objective);
  from.read(logged.derivative);
  from.read(e.seconds);
  e.counts = restore_counts(from);
  if (!from.get<bool>()) return;
  e.gradient = simulation().values();
  for (std::size_t i = 0; i < e.gradient.size(); ++i) {
    if (simulation().spec().unknowns[i].is_field()) {
      from.block(owned_box(simulation().grid()), e.gradient[i]);
    } else {
      from.read(e.gradient[i]);
    }
  }
}

}  // namespace hindsight
