// A session of several experiments: each group of ranks works on its share, and what they give is added up.
#include <fmt/format.h>

#include <array>
#include <bit>
#include <tuple>
#include <utility>

#include "runtime/error.hpp"
#include "src/session.hpp"

namespace hindsight {
namespace {

/// Of all groups together.
DriverCounts all_counts(const DriverCounts& own, const Communicator& across) {
  using Numbers = std::array<std::int64_t, sizeof(DriverCounts) / sizeof(std::int64_t)>;
  const auto mine = std::bit_cast<Numbers>(own);
  std::vector<Numbers> all(static_cast<std::size_t>(across.size()));
  constexpr int count = std::tuple_size_v<Numbers>;
  MPI_Allgather(mine.data(), count, MPI_INT64_T, all.data(), count, MPI_INT64_T, across.handle());
  DriverCounts sum;
  for (const Numbers& theirs : all) add_counts(sum, std::bit_cast<DriverCounts>(theirs));
  return sum;
}

}  // namespace

void Session::Logged::add(const Logged& other) {
  Evaluation& e = evaluation;
  e.objective += other.evaluation.objective;
  derivative += other.derivative;
  for (std::size_t i = 0; i < e.gradient.size(); ++i)
    for (std::size_t k = 0; k < e.gradient[i].size(); ++k) e.gradient[i][k] += other.evaluation.gradient[i][k];
}

/// Evaluates a shot. @returns why that failed, which ends the evaluation; none: it did not, or the shot is excluded.
std::optional<std::string> Session::failure_of(std::size_t shot, const std::function<Logged()>& evaluate,
                                               ShotSum& sum) {
  experiments_->use(shot);
  Logged own;
  try {
    own = evaluate();
  } catch (const NumericsError& error) {
    progress_.finish();
    if (!case_.excludes_failing_shots || !shots_->is_first())
      return "shot '" + experiments_->name(shot) + "': " + error.what();
    shots_->exclude(shot, error.what());
    sum.leave_out(shot);
    return std::nullopt;
  }
  const double weight = experiments_->weight(shot);
  ShotPart part{{weight * own.evaluation.objective, weight * own.derivative}};
  for (const std::vector<double>& values : own.evaluation.gradient)
    for (const double value : values) part.numbers.push_back(weight * value);
  sum.add(shot, std::move(part));
  add_counts(counts_of_shots_, own.evaluation.counts);
  const double seconds = comm_.max(own.evaluation.seconds);  // ranks go by it when they choose
  shots_->enter(shot, {experiments_->name(shot), weight, own.evaluation.objective, simulation().objective().residuals(),
                       simulation().time().steps(), seconds});
  return std::nullopt;
}

Session::Logged Session::of_shots(const std::function<Logged()>& evaluate) {
  ShotSum sum(experiments_->count(), shots_->groups());
  shots_->begin();
  counts_of_shots_ = {};
  std::optional<std::string> failure;
  for (std::size_t i = 0; i < experiments_->count(); ++i)
    if (shots_->is_excluded(i) && shots_->groups().index() == 0) sum.leave_out(i);
  while (const auto shot = shots_->next()) {
    failure = failure_of(*shot, evaluate, sum);
    if (failure) shots_->stop();
  }
  if (const auto first = shots_->end(failure)) throw NumericsError(*first);
  take_results();
  const std::optional<ShotPart> total = sum.total();
  if (!total)
    throw InputError(fmt::format("shots: none is left, all {} are excluded; '{}' because of this: {}",
                                 case_.excluded_shots.size(), case_.excluded_shots.front().name,
                                 case_.excluded_shots.front().reason));
  Logged all;
  auto next = total->numbers.begin();
  all.evaluation.objective = *next++;
  all.derivative = *next++;
  if (next != total->numbers.end())
    for (const std::vector<double>& values : simulation().values()) {
      const auto end = next + std::ssize(values);
      all.evaluation.gradient.emplace_back(next, end);
      next = end;
    }
  all.evaluation.counts = all_counts(counts_of_shots_, shots_->groups().across());
  for (const ShotResult& shot : shot_results_) all.evaluation.seconds += shot.seconds;
  return all;
}

void Session::take_results() {
  for (const auto& [shot, reason] : shots_->newly_excluded()) exclude(shot, reason);
  shot_results_.clear();
  for (std::size_t i = 0; i < experiments_->count(); ++i) {
    if (!shots_->results()[i]) continue;
    shot_results_.push_back(*shots_->results()[i]);
    shot_results_.back().name = experiments_->name(i);
    shot_results_.back().weight = experiments_->weight(i);
  }
}

void Session::exclude(std::size_t shot, const std::string& reason) {
  case_.excluded_shots.push_back({experiments_->name(shot), reason});
  notes_.push_back("shot '" + experiments_->name(shot) + "' is excluded: " + reason);
  progress_.warn(notes_.back());
}

}  // namespace hindsight
