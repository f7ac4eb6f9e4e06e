#include "src/shared_shots.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "adjoint/shots/makespan.hpp"

namespace hindsight {
namespace {

/// Numbers of a result on the wire: whether it is there, objective, steps, seconds; per misfit count, squares, noise.
constexpr std::size_t fixed_numbers = 4, numbers_per_misfit = 3;

void write(const ShotResult& result, double* to) {
  *to++ = 1.0;
  *to++ = result.objective;
  *to++ = static_cast<double>(result.steps);
  *to++ = result.seconds;
  for (const Term::Residuals& misfit : result.residuals) {
    *to++ = static_cast<double>(misfit.count);
    *to++ = misfit.sum_of_squares;
    *to++ = misfit.noise;
  }
}

ShotResult read(const double* from, const std::vector<std::string>& misfits) {
  ShotResult result;
  result.objective = from[1];
  result.steps = static_cast<std::int64_t>(from[2]);
  result.seconds = from[3];
  from += fixed_numbers;
  for (const std::string& name : misfits) {
    result.residuals.push_back({name, static_cast<std::int64_t>(from[0]), from[1], from[2]});
    from += numbers_per_misfit;
  }
  return result;
}

/// "a\nb" of texts without line breaks.
std::string joined(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += (all.empty() ? "" : "\n") + text;
  return all;
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> all;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    all.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return all;
}

/// 0: none.
std::int64_t gravity(const std::optional<Error>& failure) {
  enum { none, stops, fails, breaks };
  if (!failure) return none;
  return failure->code() == ExitCode::stopped ? stops : failure->code() == ExitCode::numerics ? fails : breaks;
}

}  // namespace

SharedShots::SharedShots(const ShotGroups* groups, const Communicator& comm, std::size_t count,
                         std::optional<unsigned> shuffle)
    : own_(groups == nullptr ? std::make_unique<ShotGroups>(comm, 1) : nullptr),
      groups_(groups == nullptr ? own_.get() : groups),
      queue_(*groups_),
      order_(count),
      is_selected_(count, true),
      is_excluded_(count, false),
      is_tried_(count, false),
      is_kept_(count, false),
      results_(count) {
  std::iota(order_.begin(), order_.end(), 0);
  if (shuffle) shuffle_.emplace(*shuffle);
}

void SharedShots::begin(const std::vector<std::size_t>& kept) {
  results_.assign(count(), std::nullopt);
  excluded_.clear();
  std::vector<double> is_kept(count(), 0.0);
  for (const std::size_t shot : kept) is_kept[shot] = 1.0;
  groups_->across().sum(is_kept);
  for (std::size_t shot = 0; shot < count(); ++shot) is_kept_[shot] = is_kept[shot] > 0.0;
  if (shuffle_) std::ranges::shuffle(order_, *shuffle_);
}

std::optional<std::size_t> SharedShots::next() {
  while (true) {
    const std::int64_t number = queue_.add(1);
    if (number >= std::ssize(order_)) return std::nullopt;
    const std::size_t shot = order_[static_cast<std::size_t>(number)];
    if (takes_part(shot) && !is_kept_[shot]) return shot;
  }
}

std::size_t SharedShots::selected() const {
  return static_cast<std::size_t>(std::ranges::count(is_selected_, true));
}

void SharedShots::take_as_tried() {
  for (std::size_t shot = 0; shot < count(); ++shot) is_tried_[shot] = is_tried_[shot] || is_selected_[shot];
}

void SharedShots::enter(std::size_t shot, ShotResult result) {
  results_[shot] = std::move(result);
}

void SharedShots::exclude(std::size_t shot, std::string reason) {
  excluded_.emplace_back(shot, std::move(reason));
}

void SharedShots::end(const std::optional<Error>& failure, const std::function<void()>& meanwhile) {
  queue_.restart(meanwhile);
  const Communicator& across = groups_->across();
  const std::int64_t mine = gravity(failure), gravest = across.max(mine);
  groups_->clear();
  if (gravest > 0)
    across.agree(mine == gravest ? failure->what() : "", mine == gravest ? static_cast<int>(failure->code()) : 0);
  share_exclusions();
  share_results();
  share_simulated();
  sort();
  take_as_tried();
}

void SharedShots::recall(std::vector<std::optional<ShotResult>> results,
                         std::vector<std::pair<std::size_t, std::string>> excluded) {
  results_ = std::move(results);
  excluded_ = std::move(excluded);
  for (const auto& [shot, reason] : excluded_) is_excluded_[shot] = true;
  sort();
  take_as_tried();
}

void SharedShots::share_exclusions() {
  const Communicator& across = groups_->across();
  std::vector<double> owner(count(), 0.0);
  for (const auto& [shot, reason] : excluded_) owner[shot] = 1.0;
  across.sum(owner);
  std::vector<std::pair<std::size_t, std::string>> all;
  for (std::size_t shot = 0; shot < count(); ++shot) {
    if (owner[shot] == 0.0) continue;
    const auto own = std::ranges::find(excluded_, shot, &std::pair<std::size_t, std::string>::first);
    all.emplace_back(shot, across.first_text(own == excluded_.end() ? "" : own->second));
    is_excluded_[shot] = true;
  }
  excluded_ = std::move(all);
}

/// Each is known to one group. Misfits have the names that the case gives them, the same in all shots.
void SharedShots::share_results() {
  const Communicator& across = groups_->across();
  std::vector<std::string> misfits;
  for (const auto& result : results_)
    if (result && misfits.empty())
      for (const Term::Residuals& misfit : result->residuals) misfits.push_back(misfit.name);
  misfits = split(across.first_text(joined(misfits)));
  const std::size_t each = fixed_numbers + numbers_per_misfit * misfits.size();
  std::vector<double> all(each * count(), 0.0);
  for (std::size_t shot = 0; shot < count(); ++shot)
    if (results_[shot]) write(*results_[shot], all.data() + each * shot);
  across.sum(all);
  for (std::size_t shot = 0; shot < count(); ++shot)
    if (all[each * shot] != 0.0 && !results_[shot]) results_[shot] = read(all.data() + each * shot, misfits);
}

/// Where they are kept. Each is known to one group.
void SharedShots::share_simulated() {
  const Communicator& across = groups_->across();
  if (across.size() == 1) return;
  for (auto& result : results_) {
    const std::int64_t count = across.max(result ? std::ssize(result->simulated) : 0);
    if (count == 0) continue;
    result->simulated.resize(static_cast<std::size_t>(count), 0.0);
    across.sum(result->simulated);
  }
}

/// As the table has them where times are equal.
void SharedShots::sort() {
  std::vector<double> seconds;
  for (const auto& result : results_) seconds.push_back(result ? result->seconds : 0.0);
  order_ = order_of_work(seconds, groups_->count());
}

}  // namespace hindsight
