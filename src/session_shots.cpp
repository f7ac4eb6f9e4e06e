// A session of several experiments: each group of ranks works on its share, and what they give is added up.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <span>
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

void Session::begin_stage(const std::string& name, const InversionStage& stage) {
  stage_ = name;
  const auto misfits = std::ranges::count_if(case_.objective, &TermText::is_misfit);
  std::vector<std::optional<FilterSpec>> filters = stage.filters;
  filters.resize(static_cast<std::size_t>(misfits));
  experiments_->for_each_kind([&](Simulation& simulation, Gradients*) { simulation.set_filters(filters); });
  if (!has_shots()) return;
  const std::vector<std::string>& shots = stage.shots;
  std::vector<bool> selected(experiments_->count(), shots.empty());
  for (std::size_t i = 0; i < selected.size(); ++i)
    selected[i] = selected[i] || std::ranges::find(shots, experiments_->name(i)) != shots.end();
  if (std::ranges::count(selected, true) == 0) throw none_is_left();
  shots_->select(std::move(selected));
}

InputError Session::none_is_left() const {
  const std::string what = stage_.empty()
                               ? fmt::format("shots: none is left, all {} are excluded", case_.excluded_shots.size())
                               : stage_ + ": none of its shots is left, all are excluded";
  const ExcludedShot& one = case_.excluded_shots.front();
  return InputError(fmt::format("{}; '{}' because of this: {}", what, one.name, one.reason));
}

Error Session::failure_in(std::size_t shot, const Error& error) const {
  const bool is_of_shot = error.code() == ExitCode::numerics || error.code() == ExitCode::bad_input;
  return {error.code(), (is_of_shot ? "shot '" + experiments_->name(shot) + "': " : "") + error.what()};
}

/// Evaluates a shot. @returns why that failed, which ends the evaluation; none: it did not, or the shot is excluded.
/// What a rank throws alone ends the process.
std::optional<Error> Session::failure_of(std::size_t shot, const Work& work) {
  shot_now_ = shot;
  Evaluation own;
  double derivative = 0.0;
  try {
    experiments_->use(shot);
    if (options_.journal != nullptr) {
      options_.journal->shot_begins(experiments_->name(shot));
      options_.journal->phase(named(work.kind), work.steps());
    }
    work.evaluate(own, derivative);
  } catch (const NumericsError& error) {
    progress_.finish();
    shot_now_.reset();
    if (!case_.excludes_failing_shots || !shots_->is_first(shot)) return failure_in(shot, error);
    shots_->exclude(shot, error.what());
    shot_sum_->leave_out(shot);
    if (options_.journal != nullptr) options_.journal->shot_begins("");
    return std::nullopt;
  } catch (const Error& error) {
    if (groups().count() > 1 && !groups().have_met()) throw;
    return failure_in(shot, error);
  }
  shot_now_.reset();
  const double weight = experiments_->weight(shot);
  ShotPart part{{weight * own.objective, weight * derivative}};
  std::size_t numbers = part.numbers.size();
  for (const std::vector<double>& values : own.gradient) numbers += values.size();
  part.numbers.reserve(numbers);
  for (const std::vector<double>& values : own.gradient)
    for (const double value : values) part.numbers.push_back(weight * value);
  if (const std::optional<Error> failure = failure_of([&] { shot_sum_->add(shot, std::move(part)); })) return failure;
  add_counts(counts_of_shots_, own.counts);
  const double seconds = comm_.max(own.seconds);  // ranks go by it when they choose
  const Objective& objective = simulation().objective();
  shots_->enter(shot,
                {experiments_->name(shot), weight, own.objective, objective.residuals(), simulation().time().steps(),
                 seconds, keeps_simulated_ ? objective.observed() : std::vector<double>()});
  if (options_.journal != nullptr) options_.journal->tell_shot(own.objective, seconds);
  return std::nullopt;
}

/// Of what the ranks of a group throw together.
std::optional<Error> Session::failure_of(const std::function<void()>& work) {
  try {
    work();
    return std::nullopt;
  } catch (const Error& error) {
    return error;
  }
}

/// Those of this group: first the one that was under way, then what is left.
std::optional<Error> Session::evaluate_shots(const Work& work) {
  RunJournal* const journal = options_.journal;
  std::optional<std::size_t> shot = shot_now_ ? shot_now_ : shots_->next();
  for (; shot; shot = shots_->next()) {
    if (const std::optional<Error> failure = failure_of(*shot, work)) return failure;
    if (journal == nullptr) continue;
    if (const std::optional<Error> failure = failure_of([&] { journal->shot_done(); })) return failure;
  }
  return journal != nullptr ? failure_of([&] { journal->before_waiting(); }) : std::nullopt;
}

void Session::of_shots(const Work& work, Logged& result) {
  constexpr std::size_t added_at_once = 2;
  const auto all = static_cast<std::size_t>(parts_of(experiments_->count()));
  const bool in_memory = parts_in_memory_ >= all || !work.with_gradient || options_.journal == nullptr;
  shot_sum_.emplace(experiments_->count(), groups(), in_memory ? nullptr : &journaled_parts_,
                    in_memory ? all : parts_in_memory_ - added_at_once);
  std::optional<Error> failure = take_kept_shots();
  if (options_.journal != nullptr) options_.journal->keep_shots([this](BlockWriter& to) { write_shots(to); });
  try {
    if (!failure) failure = evaluate_shots(work);
    result.evaluation.seconds = end_shots(failure);
  } catch (const Error&) {
    if (options_.journal != nullptr) options_.journal->keep_shots(nullptr);
    throw;
  }
  if (options_.journal != nullptr) options_.journal->keep_shots(nullptr);
  take_results();
  const std::optional<ShotPart> total = shot_sum_->total();
  shot_sum_.reset();
  if (!total) throw none_is_left();
  take_total(*total, result);
}

/// When other groups fail or stop, what this one has done is kept, too.
/// @returns seconds of the group that took longest.
double Session::end_shots(const std::optional<Error>& failure) {
  RunJournal* const journal = options_.journal;
  if (failure) {
    shots_->stop();
    if (failure->code() != ExitCode::numerics) groups().call_off();
  }
  double seconds = 0.0;  // of this group's shots
  for (const auto& shot : shots_->results()) seconds += shot ? shot->seconds : 0.0;
  try {
    shots_->end(failure, [journal] {
      if (journal != nullptr) journal->look_at_commits();
    });
    return groups().world().max(seconds);
  } catch (const NumericsError&) {
    throw;
  } catch (const Error&) {
    if (journal != nullptr && !failure) journal->keep_if_possible();
    groups().world().any(false);  // before the first rank says that nobody writes any more
    throw;
  }
}

/// The evaluation begins with what an earlier process had worked out of it. @returns why that cannot be read.
std::optional<Error> Session::take_kept_shots() {
  values_of_shots_ = dot(simulation().values(), simulation().values());
  if (kept_shots_.values && *kept_shots_.values != values_of_shots_)
    throw InputError(
        "cannot go on: the run asks for other values than those of the shots that it had worked out before; an "
        "optimiser whose unknowns are fields goes on with the same number of ranks in a group only");
  std::vector<std::size_t> shots;
  for (const auto& [shot, result] : kept_shots_.results) shots.push_back(shot);
  for (const auto& [shot, reason] : kept_shots_.excluded) shots.push_back(shot);
  shot_now_ = kept_shots_.under_way;
  if (shot_now_) shots.push_back(*shot_now_);
  shots_->begin(shots);
  return failure_of([this] { enter_kept_shots(); });
}

void Session::enter_kept_shots() {
  KeptShots kept = std::exchange(kept_shots_, {});
  RunJournal* const journal = options_.journal;
  const auto is_in_sum = [&](std::size_t shot) {
    return std::ranges::any_of(kept.nodes, [&](const auto& node) { return node.first <= shot && shot < node.end; });
  };
  for (std::size_t i = 0; groups().index() == 0 && i < experiments_->count(); ++i)
    if (!shots_->takes_part(i) && !is_in_sum(i)) shot_sum_->leave_out(i);
  counts_of_shots_ = kept.counts;
  const auto is_in_own_sums = [](const auto& node) { return !node.places.empty() && !node.earlier; };
  if (journal != nullptr && std::ranges::none_of(kept.nodes, is_in_own_sums)) journal->sums().restart();
  for (KeptShots::Node& node : kept.nodes) shot_sum_->enter(node.first, node.end, waiting_part(node));
  if (journal != nullptr) journal->shots_begin(shots_->selected());
  for (const auto& [shot, result] : kept.results) {
    shots_->enter(shot, result);
    if (journal == nullptr) continue;
    journal->shot_begins(experiments_->name(shot));
    journal->tell_shot(result.objective, result.seconds);
  }
  for (const auto& [shot, reason] : kept.excluded) shots_->exclude(shot, reason);
}

std::optional<WaitingPart> Session::waiting_part(KeptShots::Node& node) {
  if (node.sum) return WaitingPart(std::move(*node.sum));
  if (node.places.empty()) return std::nullopt;
  if (!node.earlier) return WaitingPart(journaled_parts_, node.places[0]);
  ShotPart part;
  comm_.together(
      [&] { node.earlier->get(node.file, node.places, [&](BlockReader& from) { part = read_part(from); }); });
  return WaitingPart(std::move(part));
}

void Session::take_total(const ShotPart& total, Logged& result) const {
  auto next = total.numbers.begin();
  result.evaluation.objective = *next++;
  result.derivative = *next++;
  if (next != total.numbers.end())
    for (const std::vector<double>& values : simulation().values()) {
      const auto end = next + std::ssize(values);
      result.evaluation.gradient.emplace_back(next, end);
      next = end;
    }
  result.evaluation.counts = all_counts(counts_of_shots_, groups().across());
}

void Session::take_results() {
  for (const auto& [shot, reason] : shots_->newly_excluded()) exclude(shot, reason);
  shot_results_.clear();
  for (std::size_t i = 0; i < experiments_->count(); ++i) {
    const std::optional<ShotResult>& shot = shots_->results()[i];
    if (shot)
      shot_results_.push_back({experiments_->name(i), experiments_->weight(i), shot->objective, shot->residuals,
                               shot->steps, shot->seconds});
  }
}

void Session::exclude(std::size_t shot, const std::string& reason) {
  case_.excluded_shots.push_back({experiments_->name(shot), reason});
  notes_.push_back("shot '" + experiments_->name(shot) + "' is excluded: " + reason);
  progress_.warn(notes_.back());
}

namespace {

void write_result(ArchiveWriter& to, std::size_t shot, const ShotResult& result) {
  to.write(shot);
  to.write(result.objective);
  to.write(result.steps);
  to.write(result.seconds);
  to.write(result.residuals.size());
  for (const Term::Residuals& misfit : result.residuals) {
    to.write(misfit.name);
    to.write(misfit.count);
    to.write(misfit.sum_of_squares);
    to.write(misfit.noise);
  }
  to.write(result.simulated);
}

std::pair<std::size_t, ShotResult> read_result(BlockReader& from) {
  const auto shot = from.get<std::size_t>();
  ShotResult result;
  from.read(result.objective);
  from.read(result.steps);
  from.read(result.seconds);
  result.residuals.resize(from.get<std::size_t>());
  for (Term::Residuals& misfit : result.residuals) {
    from.read(misfit.name);
    from.read(misfit.count);
    from.read(misfit.sum_of_squares);
    from.read(misfit.noise);
  }
  from.read(result.simulated);
  return {shot, std::move(result)};
}

}  // namespace

/// Of all shots, or, while an evaluation is under way, of those that this group has worked on.
void Session::write_results(ArchiveWriter& to) const {
  const auto& results = shots_->results();
  to.write(static_cast<std::size_t>(std::ranges::count_if(results, [](const auto& r) { return r.has_value(); })));
  for (std::size_t shot = 0; shot < results.size(); ++shot)
    if (results[shot]) write_result(to, shot, *results[shot]);
  to.write(shots_->newly_excluded().size());
  for (const auto& [shot, reason] : shots_->newly_excluded()) {
    to.write(shot);
    to.write(reason);
  }
}

void Session::read_results(BlockReader& from) {
  std::vector<std::optional<ShotResult>> results(experiments_->count());
  for (auto n = from.get<std::size_t>(); n > 0; --n) {
    auto [shot, result] = read_result(from);
    results.at(shot) = std::move(result);
  }
  std::vector<std::pair<std::size_t, std::string>> excluded;
  for (auto n = from.get<std::size_t>(); n > 0; --n) {
    const auto shot = from.get<std::size_t>();
    excluded.emplace_back(shot, from.get<std::string>());
  }
  shots_->recall(std::move(results), std::move(excluded));
  take_results();
}

std::int64_t Session::JournaledParts::put(const ShotPart& part) {
  return session_.options_.journal->put_sum([&](BlockWriter& to) { session_.write_part(to, part); });
}

ShotPart Session::JournaledParts::get(std::int64_t place) {
  ShotPart part;
  session_.options_.journal->sums().get(place, [&](BlockReader& from) { part = session_.read_part(from); });
  return part;
}

/// Numbers of the unknowns, as a sum over shots has them.
void Session::write_part(BlockWriter& to, const ShotPart& part) const {
  const std::span<const double> all(part.numbers);
  to.archive().write(all.subspan(0, 2));
  std::size_t next = 2;
  to.archive().write(next != all.size());
  for (std::size_t i = 0; next != all.size(); ++i) {
    const std::span<const double> values = all.subspan(next, simulation().values()[i].size());
    next += values.size();
    if (simulation().spec().unknowns[i].is_field())
      to.block(owned_box(simulation().grid()), values);
    else
      to.archive().write(values);
  }
}

ShotPart Session::read_part(BlockReader& from) const {
  ShotPart part{from.get<std::vector<double>>()};
  if (!from.get<bool>()) return part;
  const UnknownValues& values = simulation().values();
  std::size_t next = part.numbers.size(), numbers = next;
  for (const std::vector<double>& of_one : values) numbers += of_one.size();
  part.numbers.resize(numbers);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::span<double> place = std::span(part.numbers).subspan(next, values[i].size());
    next += values[i].size();
    if (simulation().spec().unknowns[i].is_field())
      from.block(owned_box(simulation().grid()), place);
    else
      std::ranges::copy(from.get<std::vector<double>>(), place.begin());
  }
  return part;
}

/// What this group has worked out of the evaluation under way.
void Session::write_shots(BlockWriter& to) const {
  ArchiveWriter& archive = to.archive();
  archive.write(values_of_shots_);
  archive.write(shot_now_ ? static_cast<std::int64_t>(*shot_now_) : std::int64_t{-1});
  save_counts(archive, counts_of_shots_);
  write_results(archive);
  std::size_t nodes = 0;
  shot_sum_->for_each([&](std::size_t, std::size_t, const std::optional<WaitingPart>&) { ++nodes; });
  archive.write(nodes);
  archive.write(std::int64_t{options_.journal->sums().file()});
  shot_sum_->for_each([&](std::size_t first, std::size_t end, const std::optional<WaitingPart>& sum) {
    archive.write(first);
    archive.write(end);
    archive.write(sum.has_value());
    if (!sum) return;
    archive.write(sum->is_in_memory());
    if (!sum->is_in_memory()) return archive.write(sum->place());
    sum->look_at([&](const ShotPart& part) { write_part(to, part); });
  });
}

/// The same of a group of an earlier process.
void Session::read_shots(const RunJournal::KeptShots& kept) {
  BlockReader& from = kept.from;
  kept_shots_.values = from.get<double>();
  const auto under_way = from.get<std::int64_t>();
  if (kept.goes_on && under_way >= 0) kept_shots_.under_way = static_cast<std::size_t>(under_way);
  add_counts(kept_shots_.counts, restore_counts(from));
  for (auto n = from.get<std::size_t>(); n > 0; --n) kept_shots_.results.push_back(read_result(from));
  for (auto n = from.get<std::size_t>(); n > 0; --n) {
    const auto shot = from.get<std::size_t>();
    kept_shots_.excluded.emplace_back(shot, from.get<std::string>());
  }
  auto nodes = from.get<std::size_t>();
  const auto file = static_cast<int>(from.get<std::int64_t>());
  for (; nodes > 0; --nodes) {
    KeptShots::Node node{from.get<std::size_t>(), from.get<std::size_t>(), {}, {}, file, kept.earlier};
    const bool has_sum = from.get<bool>(), is_here = has_sum && from.get<bool>();
    if (is_here) node.sum = read_part(from);
    if (has_sum && !is_here) node.places = from.all<std::int64_t>();
    if (!node.places.empty() && !node.earlier && !options_.journal->sums().is_open())
      options_.journal->sums().restore(file);
    kept_shots_.nodes.push_back(std::move(node));
  }
}

}  // namespace hindsight
