#include "src/picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "runtime/error.hpp"

namespace hindsight {
namespace {

constexpr double width = 960, height = 560, left = 70, right = 20, top = 74, bottom = 52;
constexpr const char* tier_colours[tier_count] = {"#2ca02c", "#ff9f1c", "#8e44ad"};
constexpr std::int64_t most_steps = 20000;

/// Executes the actions on paper: where lines run and how long checkpoints are kept, in units of cost and steps.
class Drawing {
 public:
  struct Line {
    double t0, y0, t1, y1;
  };
  struct Bar {
    double t0, t1;
    std::int64_t step;
    Tier tier;
  };

  explicit Drawing(const ScheduleCosts& costs) : costs_(costs) {}

  void operator()(const Advance& a) { forward(a.from, a.to); }
  void operator()(const Record& a) {
    if (!turned_) forward(a.step, a.step + 1);
  }
  void operator()(const Reverse& a) {
    const double end = time_ + costs_.reverse;
    reversed.push_back({time_, static_cast<double>(a.step + 1), end, static_cast<double>(a.step)});
    time_ = end;
  }
  void operator()(const Retreat& a) {
    const double end = time_ + costs_.forward;
    forwards.push_back({time_, static_cast<double>(a.from), end, static_cast<double>(a.to)});
    time_ = end;
  }
  void operator()(const Save& a) {
    time_ += costs_.write[index_of(a.slot.tier)];
    open_[key(a.slot)] = {time_, a.step};
  }
  void operator()(const Load& a) { time_ += costs_.read[index_of(a.slot.tier)]; }
  void operator()(const Move& a) {
    const std::int64_t step = close(a.from);
    open_[key(a.to)] = {time_, step};
  }
  void operator()(const Release& a) { close(a.slot); }
  void operator()(const Turn&) { turned_ = true; }
  void operator()(const Done&) {}

  double end() const { return time_; }
  std::vector<Line> forwards, reversed;
  std::vector<Bar> bars;

 private:
  using Key = std::pair<Tier, std::int64_t>;
  static Key key(Slot slot) { return {Tier{slot.tier}, std::int64_t{slot.index}}; }
  void forward(std::int64_t from, std::int64_t to) {
    const double end = time_ + costs_.forward * static_cast<double>(to - from);
    forwards.push_back({time_, static_cast<double>(from), end, static_cast<double>(to)});
    time_ = end;
  }
  std::int64_t close(Slot slot) {
    const auto found = open_.find(key(slot));
    const auto [begin, step] = found->second;
    bars.push_back({begin, time_, step, slot.tier});
    open_.erase(found);
    return step;
  }

  ScheduleCosts costs_;
  bool turned_ = false;
  double time_ = 0;
  std::map<Key, std::pair<double, std::int64_t>> open_;
};

/// A round number near a fifth of the range.
double tick(double range) {
  double power = 1;
  while (power * 10 <= range / 5) power *= 10;
  while (power > range / 5 && power > 1e-9) power /= 10;
  for (const double factor : {5.0, 2.0})
    if (power * factor <= range / 4) return power * factor;
  return power;
}

}  // namespace

std::string schedule_picture(const PictureText& text, const ScheduleKind& kind, const Schedule& schedule,
                             const ScheduleRequest& request, const ScheduleCosts& costs) {
  const std::int64_t n = request.steps == unknown_steps ? request.at_most : request.steps;
  if (n > most_steps)
    throw InputError(fmt::format(
        "a picture of {} steps{} would show nothing; draw at most {} (fewer steps with the same slots look alike)", n,
        request.steps == unknown_steps ? ", as many as " + text.bound + " allows," : "", most_steps));
  Drawing drawing(costs);
  ActionStream stream = schedule.actions();
  std::int64_t forward_steps = 0, live = 0;
  bool end_is_open = kind.is_online;
  while (const Action* action = stream.next()) {
    std::visit(drawing, *action);
    if (const auto* a = std::get_if<Advance>(action)) forward_steps += a->to - a->from, live = a->to;
    if (const auto* a = std::get_if<Record>(action)) ++forward_steps, live = a->step + 1;
    if (end_is_open && live == n) {
      stream.finish_at(n);
      end_is_open = false;
    }
  }
  const double sx = (width - left - right) / drawing.end(), sy = (height - top - bottom) / static_cast<double>(n);
  const auto x = [&](double t) { return left + t * sx; };
  const auto y = [&](double step) { return height - bottom - step * sy; };

  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" "
      "font-family=\"sans-serif\" font-size=\"13\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
      width, height);
  svg += fmt::format("<text x=\"{}\" y=\"24\" font-size=\"17\">{}</text>\n", left, text.title);
  svg += fmt::format(
      "<text x=\"{}\" y=\"44\" fill=\"#555\">{} forward steps in all, each of the {} steps is taken {:.2f} "
      "times on average</text>\n",
      left, forward_steps, n, static_cast<double>(forward_steps) / static_cast<double>(n));
  for (double step = 0; step <= static_cast<double>(n); step += std::max(1.0, tick(static_cast<double>(n))))
    svg += fmt::format(
        "<path d=\"M{:.1f} {:.1f}H{:.1f}\" stroke=\"#eee\"/><text x=\"{:.1f}\" y=\"{:.1f}\" "
        "text-anchor=\"end\" fill=\"#555\">{:g}</text>\n",
        left, y(step), width - right, left - 8, y(step) + 4, step);
  const double unit = tick(drawing.end());
  for (double t = 0; t <= drawing.end(); t += unit)
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\" fill=\"#555\">{:g}</text>\n", x(t),
                       height - bottom + 18, t);
  svg += fmt::format(
      "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">time{}</text>\n"
      "<text x=\"18\" y=\"{:.1f}\" text-anchor=\"middle\" transform=\"rotate(-90 18 {:.1f})\">step</text>\n",
      (left + width - right) / 2, height - 12, text.time_unit, (top + height - bottom) / 2,
      (top + height - bottom) / 2);

  const double thickness = std::clamp(0.5 * sy, 0.8, 7.0);
  std::array<std::string, tier_count> bars;
  for (const Drawing::Bar& bar : drawing.bars)
    if ((bar.t1 - bar.t0) * sx >= 0.4)  // shorter ones would not be seen
      bars[index_of(bar.tier)] +=
          fmt::format("M{:.1f} {:.1f}H{:.1f}", x(bar.t0), y(static_cast<double>(bar.step)), x(bar.t1));
  for (std::size_t t = 0; t < tier_count; ++t)
    if (!bars[t].empty())
      svg += fmt::format("<path d=\"{}\" stroke=\"{}\" stroke-width=\"{:.1f}\" fill=\"none\"/>\n", bars[t],
                         tier_colours[t], thickness);
  const auto lines = [&](const std::vector<Drawing::Line>& all, const char* colour, double stroke) {
    std::string path;
    double end_x = -1, end_y = -1;
    for (const Drawing::Line& l : all) {
      if (x(l.t0) - end_x > 0.05 || std::abs(y(l.y0) - end_y) > 0.05)
        path += fmt::format("M{:.1f} {:.1f}", x(l.t0), y(l.y0));
      end_x = x(l.t1);
      end_y = y(l.y1);
      path += fmt::format("L{:.1f} {:.1f}", end_x, end_y);
    }
    svg += fmt::format("<path d=\"{}\" stroke=\"{}\" stroke-width=\"{}\" fill=\"none\" stroke-linejoin=\"round\"/>\n",
                       path, colour, stroke);
  };
  lines(drawing.forwards, "#4a4a4a", n > 200 ? 0.7 : 1.4);
  lines(drawing.reversed, "#d62728", n > 200 ? 1.6 : 2.6);

  double at = left;
  const auto legend = [&](const char* colour, const std::string& what) {
    svg += fmt::format(
        "<rect x=\"{0:.1f}\" y=\"54\" width=\"16\" height=\"6\" fill=\"{1}\"/><text x=\"{2:.1f}\" y=\"62\" "
        "fill=\"#333\">{3}</text>\n",
        at, colour, at + 22, what);
    at += 34 + 7.2 * static_cast<double>(what.size());
  };
  legend("#4a4a4a", "forward steps");
  legend("#d62728", "reversed steps");
  for (std::size_t t = 0; t < tier_count; ++t)
    if (!bars[t].empty())
      legend(tier_colours[t],
             std::string("checkpoint ") + (t == 2 ? "on disk" : "in " + to_text(static_cast<Tier>(t)) + " memory"));
  return svg + "</svg>\n";
}

}  // namespace hindsight
