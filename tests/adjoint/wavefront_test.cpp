// ranks: 1 2 3 4
// All stages of a step in one walk over the rows give the bits of one pass after another, on any number of ranks, with
// one message to each neighbour.
#include <fmt/format.h>

#include <optional>

#include "solvers/steppers/wavefront.hpp"
#include "tests/adjoint/messages_sent.hpp"
#include "tests/support.hpp"
#include "tests/whole.hpp"

namespace hindsight {
namespace {

const char* const periodic = "boundary: periodic";
const char* const walls_of_zero = "boundary: {value: 0}";
const char* const walls = "boundary: {lower: {value: \"0.1*sin(t)\"}, upper: {slope: \"k*0.2\"}}";

/// Nothing unknown is in them.
const char* const known_walls = "boundary: {lower: {value: \"0.1*sin(t)\"}, upper: {slope: 0.2}}";

std::string plane(const std::string& x, const std::string& y, const std::string& method, int order,
                  const std::string& precision = "float64") {
  return fmt::format(
      "case: walk\nprecision: {}\ngrid: {{x: {{{}}}, y: {{{}}}, order: {}}}\n"
      "parameters: {{k: 0.3, D: {{field: \"0.02 + 0.01*sin(3*x)*cos(2*y)\"}}, s: {{series: {{times: [0, 1], values: "
      "[1, 2]}}}}}}\n"
      "state: {{u: {{initial: \"1 + 0.3*sin(5*x + y)\"}}, v: {{initial: \"0.4*cos(3*y)\"}}}}\n"
      "equations: {{dt(u): \"D*lap(u) - u*v^2 + k*s*dx(v)\", dt(v): \"div(D*grad(v)) + u*v - v*dy(u)\"}}\n"
      "time: {{method: {}, step: 1e-3, to: 4e-3}}\nobjective: [{{final: \"u^2 + v\"}}, {{integral: \"u*v\"}}]\n"
      "unknowns: {{k: {{}}, D: {{}}, s: {{}}, initial(u): {{}}}}\ncheckpoints: {{schedule: revolve, host: 2 slots}}\n",
      precision, x, y, order, method);
}

/// @param sides of y.
std::string room(int y_cells, const std::string& sides, int z_cells) {
  return fmt::format(
      "case: room\ngrid: {{x: {{cells: 7, to: 1}}, y: {{cells: {}, to: 1, {}}}, z: {{cells: {}, to: 1}}}}\n"
      "parameters: {{k: {{field: \"0.1 + 0.05*x\"}}}}\nstate: {{u: {{initial: \"sin(2*pi*x) + y*z\"}}}}\n"
      "equations: {{dt(u): \"div(k*grad(u)) - u*dz(u)\"}}\ntime: {{method: rk4, step: 1e-3, to: 4e-3}}\n"
      "objective: [{{final: \"u^2\"}}]\nunknowns: {{k: {{}}, initial(u): {{}}}}\n"
      "checkpoints: {{schedule: revolve, host: 2 slots}}\n",
      y_cells, sides, z_cells);
}

/// Derivatives read the state further than its values do. @param more of the objective.
std::string squares(const std::string& axes, const std::string& more = "") {
  return fmt::format(
      "case: squares\ngrid: {{{}}}\nparameters: {{k: 0.03, c: 0.01}}\n"
      "state: {{u: {{initial: \"1 + 0.3*sin(2*pi*x)*cos(2*pi*y)\"}}}}\n"
      "equations: {{dt(u): \"c*lap(u) - k*u*dy(u) - k*dy(u)^2\"}}\ntime: {{method: rk4, step: 1e-3, to: 4e-3}}\n"
      "objective: [{{final: \"u^2{}\"}}]\nunknowns: {{k: {{}}, c: {{}}, initial(u): {{}}}}\n"
      "checkpoints: {{schedule: revolve, host: 2 slots}}\n",
      axes, more);
}

/// Whose gathers read states in the cell itself alone, and hand on in place of them.
std::string reactions(const std::string& axes, const std::string& method, const std::string& unknowns,
                      const std::string& precision = "float64") {
  return fmt::format(
      "case: reactions\nprecision: {}\ngrid: {{{}}}\nparameters: {{k: 0.3}}\n"
      "state: {{u: {{initial: \"1 + 0.3*sin(2*pi*x)*cos(2*pi*y)\"}}, v: {{initial: \"0.4*cos(4*pi*y)\"}}}}\n"
      "equations: {{dt(u): \"0.01*lap(u) - u*v^2 + k*(1 - u)\", dt(v): \"0.02*lap(v) + u*v^2 - k*v\"}}\n"
      "time: {{method: {}, step: 1e-3, to: 4e-3}}\nobjective: [{{final: \"u^2 + v\"}}, {{integral: \"u*v\"}}]\n"
      "unknowns: {{{}initial(u): {{}}}}\ncheckpoints: {{schedule: revolve, host: 2 slots}}\n",
      precision, axes, method, unknowns);
}

/// What is read of a parameter field, or of coordinates, further away than anything of the state.
std::string slopes(const std::string& read, const std::string& unknowns) {
  return fmt::format(
      "case: slopes\ngrid: {{x: {{cells: 13, to: 1}}, y: {{cells: 90, to: 1}}}}\n"
      "parameters: {{a: 0.1, k: {{field: \"1 + 0.5*sin(2*pi*y)\"}}}}\n"
      "state: {{u: {{initial: \"1 + 0.3*sin(2*pi*x)*cos(2*pi*y)\"}}}}\n"
      "equations: {{dt(u): \"a*u*dy(u) + a*u*dy(dy({}))\"}}\ntime: {{method: rk4, step: 1e-3, to: 4e-3}}\n"
      "objective: [{{final: \"u^2\"}}]\nunknowns: {{{}}}\ncheckpoints: {{schedule: revolve, host: 2 slots}}\n",
      read, unknowns);
}

/// What derivatives read beyond walls may be not finite.
std::string roots(const std::string& axes) {
  return fmt::format(
      "case: roots\ngrid: {{{}}}\nparameters: {{k: 0.03, c: 0.01}}\n"
      "state: {{u: {{initial: \"0.4 + 0.3*sin(2*pi*x)*cos(2*pi*y)\"}}}}\n"
      "equations: {{dt(u): \"c*lap(u) - k*dy(sqrt(abs(u))) - k*u*dx(sqrt(abs(u)))\"}}\n"
      "time: {{method: rk4, step: 1e-3, to: 4e-3}}\nobjective: [{{final: \"u^2\"}}]\n"
      "unknowns: {{k: {{}}, c: {{}}, initial(u): {{}}}}\ncheckpoints: {{schedule: revolve, host: 2 slots}}\n",
      axes);
}

/// Across y nothing but a known field is read, further than tiles are wide.
std::string uncoupled() {
  return fmt::format(
      "case: uncoupled\ngrid: {{x: {{cells: 9, to: 1, {0}}}, y: {{cells: 12, to: 1, {0}}}, z: {{cells: 90, to: 1}}, "
      "order: 4}}\nparameters: {{a: 0.1, c: 0.01, k: {{field: \"sin(3*y)\"}}}}\n"
      "state: {{u: {{initial: \"1 + 0.3*sin(5*x + y)*cos(2*pi*z)\"}}}}\n"
      "equations: {{dt(u): \"c*dx(dx(u)) + a*dz(u) - 0.2*u^3 + 0.01*dy(dy(k))\"}}\n"
      "time: {{method: rk4, step: 1e-3, to: 4e-3}}\nobjective: [{{final: \"u^2\"}}]\n"
      "unknowns: {{a: {{}}, initial(u): {{}}}}\ncheckpoints: {{schedule: revolve, host: 2 slots}}\n",
      walls_of_zero);
}

/// Whose gathers are walked, beside walls too where these are known.
std::vector<std::string> beside_walls() {
  const std::string value = fmt::format("cells: 17, to: 1, {}", walls_of_zero),
                    field = "{field: \"0.02 + 0.01*sin(3*x)*cos(2*y)\"}";
  std::vector<std::string> texts;
  const auto add = [&](std::string text) {
    const std::size_t at = text.find(field);
    texts.push_back(at == text.npos ? text : text.replace(at, field.size(), "0.02"));
  };
  for (const char* const side : {known_walls, periodic})
    for (const auto& [method, order, precision] :
         {std::tuple{"rk4", 2, "float64"}, {"dopri5", 4, "float64"}, {"rk4", 4, "float32"}})
      add(plane(value, fmt::format("cells: 90, to: 3, {}", side), method, order, precision));
  add(plane("cells: 75, to: 1", fmt::format("cells: 90, to: 3, {}", known_walls), "rk4", 2));
  for (const int order : {2, 4})
    add(plane("cells: 2100, to: 100", fmt::format("cells: 61, to: 3, {}", known_walls), "rk4", order));
  for (const int cells : {40, 61})
    add(roots(fmt::format("x: {{{}}}, y: {{cells: {}, to: 1, {}}}", value, cells, known_walls)));
  add(roots(fmt::format("x: {{cells: 9, to: 1}}, y: {{cells: 14, to: 1, {}}}, z: {{cells: 40, to: 1, {}}}",
                        walls_of_zero, known_walls)));
  // Of which four ranks have room for walks.
  for (const bool is_only_initial : {false, true}) {
    std::string text =
        squares(fmt::format("x: {{cells: 75, to: 1, {}}}, y: {{cells: 130, to: 1, {}}}", known_walls, walls_of_zero));
    if (is_only_initial) text.replace(text.find("k: {}, c: {}, "), 14, "");
    add(text);
  }
  add(squares(fmt::format("x: {{{}}}, y: {{cells: 26, to: 1}}, z: {{cells: 33, to: 1, {}}}", value, known_walls)));
  add(uncoupled());
  std::string of_field = slopes("k", "a: {}, k: {}, initial(u): {}");
  const std::string y = "y: {cells: 90, to: 1";
  add(of_field.insert(of_field.find(y) + y.size(), fmt::format(", {}", known_walls)));
  return texts;
}

/// @param y boundary. @param are_unknown whether their signal is.
std::string with_sources(const std::string& y, const std::string& method, bool are_unknown,
                         const std::string& precision) {
  std::string text = plane(fmt::format("cells: 75, to: 1, {}", walls_of_zero), fmt::format("cells: 90, to: 3, {}", y),
                           method, 2, precision);
  const auto put = [&](const std::string& old, const std::string& by) { text.replace(text.find(old), old.size(), by); };
  put("{field: \"0.02 + 0.01*sin(3*x)*cos(2*y)\"}", "0.02");
  put("time: ",
      "sources: [{to: u, signal: s, at: {x: 0.36, y: 1.2}}, {to: v, signal: s, at: {x: 0.4, y: 2.97}, factor: "
      "20, weights: sinc}]\ntime: ");
  if (!are_unknown) put("s: {}, ", "");
  return text;
}

/// A state that jumps between its steps.
std::string jumping() {
  std::string text = squares("x: {cells: 13, to: 1}, y: {cells: 60, to: 1}");
  return text + "events: [{at: 2e-3, set: {u: \"u + 10*c\"}}]\n";
}

struct Found {
  Evaluation evaluation;
  double tangent = 0.0;
};

/// What is said of a walk; empty: there is none.
std::string described(const Session& session, const std::string& walk) {
  const std::string text = session.simulation().stepper().describe_memory();
  const std::size_t at = text.find("\n  " + walk + ": in one walk");
  return at == std::string::npos ? "" : text.substr(at, text.find('\n', at + 1) - at);
}

int tiled(const Session& session, const std::string& walk) {
  return described(session, walk).find("in tiles") != std::string::npos ? 1 : 0;
}

/// The session lives on, for whoever compares what it found. @param from_state whether steps are reversed from their
/// states alone, where they can be.
template <class Way>
Found found(std::optional<Session>& session, const std::string& text, const Communicator& comm, Way way,
            bool from_state = false) {
  Wavefront::ask(way);
  session.emplace(test::text_case(text), comm, Sensitivities::adjoint_and_tangent);
  Wavefront::ask(Wavefront::AsItPays{});
  session->simulation().reverse_from_state(from_state);
  Found found{session->gradient({})};
  found.tangent = session->tangent(test::some_direction(*session, 0.3)).second;
  return found;
}

/// Rows at once and widths of tiles, or none, that texts beside walls are walked with; others in part with one of each
/// kind.
std::vector<std::pair<int, int>> rows_and_tiles(bool is_beside_walls, std::size_t text) {
  const std::initializer_list<std::pair<int, int>> all{{1, 0}, {5, 0}, {100, 0}, {1, 3}, {2, 9}};
  if (is_beside_walls) return all;
  return test::some_of(all, {all.begin()[text % 3], all.begin()[3 + text % 2]});
}

TEST(Wavefront, GivesTheBitsOfOnePassAfterAnother) {
  std::vector<std::string> texts{room(9, walls_of_zero, 11), room(24, walls_of_zero, 26), room(26, periodic, 24)};
  for (const auto& [method, order] : {std::pair{"rk4", 4}, {"dopri5", 2}})
    for (const char* const side : {periodic, walls})
      texts.push_back(
          plane("cells: 17, to: 1, boundary: {value: 0}", fmt::format("cells: 90, to: 3, {}", side), method, order));
  texts.push_back(plane(fmt::format("cells: 13, to: 1, {}", walls), "cells: 40, to: 1", "rk4", 4, "float32"));
  for (const auto& [method, precision] : {std::pair{"rk4", "float64"}, {"dopri5", "float64"}, {"rk4", "float32"}}) {
    // whose gathers are walked too: no walls, no buffers
    std::string text = plane("cells: 17, to: 1", "cells: 90, to: 1", method, 2, precision);
    const std::string field = "{field: \"0.02 + 0.01*sin(3*x)*cos(2*y)\"}";
    texts.push_back(text.replace(text.find(field), field.size(), "0.02"));
  }
  for (const char* const read : {"k", "sin(2*pi*y)"}) texts.push_back(slopes(read, "a: {}, initial(u): {}"));
  texts.push_back(slopes("k", "a: {}, k: {}, initial(u): {}"));
  for (const int cells : {40, 43}) {
    const std::string y = fmt::format("x: {{cells: 13, to: 1}}, y: {{cells: {}, to: 1}}", cells);
    for (const char* const more : {"", " + 1e-9*lap(lap(u))^2"}) texts.push_back(squares(y, more));
    for (const char* const sides : {walls_of_zero, periodic})
      texts.push_back(squares(y + fmt::format(", z: {{cells: 28, to: 1, {}}}", sides)));
  }
  // Whose rows are wide enough for tiles, too.
  texts.push_back(plane("cells: 75, to: 1, boundary: {value: 0}", "cells: 90, to: 3", "rk4", 2));
  texts.push_back(plane("cells: 75, to: 1", fmt::format("cells: 90, to: 3, {}", walls), "dopri5", 2, "float32"));
  texts.push_back(squares("x: {cells: 90, to: 1}, y: {cells: 60, to: 1}"));
  std::string& only_initial = texts.emplace_back(texts.back());
  only_initial.replace(only_initial.find("k: {}, c: {}, "), 14, "");
  for (const char* const method : {"heun", "rk4", "dopri5"}) {
    texts.push_back(reactions("x: {cells: 75, to: 1}, y: {cells: 90, to: 1}", method, ""));
    texts.push_back(
        reactions("x: {cells: 66, to: 1}, y: {cells: 40, to: 1}, z: {cells: 30, to: 1}", method, "k: {}, "));
    texts.push_back(reactions("x: {cells: 2100, to: 100}, y: {cells: 45, to: 1}", method, "k: {}, "));
  }
  const std::string square = "x: {cells: 13, to: 1}, y: {cells: 90, to: 1}";
  texts.push_back(reactions(square, "rk4", "k: {}, ", "float32"));
  std::string& only_values = texts.emplace_back(reactions(square, "rk4", "k: {}, "));  // read beside the cell
  only_values.replace(only_values.find("0.01*lap(u)"), 11, "where(dy(u) > 0, 0.1, 0)");
  only_values.replace(only_values.find("0.02*lap(v)"), 11, "0.02");
  // Of which few rows fill whole pages: rings are no larger than they must be.
  for (const auto& [method, order] : {std::pair{"rk4", 4}, {"dopri5", 2}})
    texts.push_back(plane("cells: 2100, to: 100", "cells: 45, to: 3", method, order));
  texts.push_back(squares("x: {cells: 66, to: 1}, y: {cells: 66, to: 1}, z: {cells: 30, to: 1}"));
  texts.push_back(jumping());
  std::string& nothing_across = texts.emplace_back(room(12, periodic, 60));  // is read
  nothing_across.replace(nothing_across.find("div(k*grad(u)) - u*dz(u)"), 24, "k*dz(u)");
  const auto first_beside_walls = std::ssize(texts);
  for (const std::string& text : beside_walls()) texts.push_back(text);
  int reversed_from_states = 0, reversed_beside_walls = 0, in_tiles = 0;
  int reversed_in_tiles = 0, reversed_in_tiles_beside_walls = 0;
  for (const std::string& text : texts) {
    std::optional<Session> of_one, of_all;
    const Found expected = found(of_one, text, test::self(), Wavefront::Never{});
    EXPECT_NE(expected.tangent, 0.0);
    const std::ptrdiff_t number = &text - texts.data();
    const bool is_beside_walls = number >= first_beside_walls;
    const auto compare = [&](auto way) {
      for (const bool from_state : {false, true}) {
        const Found walked = found(of_all, text, test::world(), way, from_state);
        test::expect_same_bits(*of_all, walked.evaluation, expected.evaluation);
        EXPECT_EQ(walked.tangent, expected.tangent);
      }
      const int from_state = of_all->simulation().stepper().reverses_from_state() ? 1 : 0;
      (is_beside_walls ? reversed_beside_walls : reversed_from_states) += from_state;
      in_tiles += tiled(*of_all, "a step");
      (is_beside_walls ? reversed_in_tiles_beside_walls : reversed_in_tiles) +=
          tiled(*of_all, "a step reversed from its state alone");
    };
    for (const auto& [rows, width] : rows_and_tiles(is_beside_walls, static_cast<std::size_t>(number))) {
      SCOPED_TRACE(fmt::format("{} rows at once, tiles of {}, of {}", rows, width, text));
      compare(Wavefront::Rows{rows, width});
    }
    // Steps go with tiles and without them in turn, until it is known which is faster.
    SCOPED_TRACE(fmt::format("as it pays with a small cache, of {}", text));
    compare(Wavefront::AsItPays{8 << 10});
  }
  const bool is_alone = test::world().size() == 1;  // more ranks have room for fewer walks
  EXPECT_GE(reversed_from_states, is_alone ? 40 : 10);
  EXPECT_GE(reversed_beside_walls, is_alone ? 50 : 6);
  EXPECT_GE(in_tiles, 20);
  if (test::world().size() < 4) {
    EXPECT_GE(reversed_in_tiles, 2);
  }
  EXPECT_GE(reversed_in_tiles_beside_walls, 2);
}

TEST(Wavefront, HasSourcesOnOneRank) {
  for (const auto& [method, precision, y] :
       {std::tuple{"rk4", "float64", known_walls}, {"dopri5", "float64", periodic}, {"rk4", "float32", known_walls}})
    for (const bool are_unknown : {false, true}) {
      const std::string text = with_sources(y, method, are_unknown, precision);
      std::optional<Session> of_one, of_all;
      const Found expected = found(of_one, text, test::self(), Wavefront::Never{});
      for (const auto& [rows, width] : {std::pair{1, 0}, {7, 0}, {3, 9}})
        for (const bool from_state : {false, true}) {
          SCOPED_TRACE(fmt::format("{} rows at once, tiles of {}, of {}", rows, width, text));
          const Found walked = found(of_all, text, test::world(), Wavefront::Rows{rows, width}, from_state);
          test::expect_same_bits(*of_all, walked.evaluation, expected.evaluation);
          EXPECT_EQ(walked.tangent, expected.tangent);
          if (test::world().size() > 1) continue;
          EXPECT_NE(described(*of_all, "a step"), "");
          EXPECT_EQ(described(*of_all, "a step reversed from its state alone") == "", are_unknown || y == periodic);
        }
    }
}

TEST(Wavefront, ChoosesTilesOrNone) {
  Wavefront::ask(Wavefront::AsItPays{8 << 10});
  Session session(test::text_case(squares("x: {cells: 90, to: 1}, y: {cells: 130, to: 1}")), test::self(),
                  Sensitivities::none);
  Wavefront::ask(Wavefront::AsItPays{});
  const auto has_two_ways = [&] { return described(session, "a step").find("; or, ") != std::string::npos; };
  EXPECT_TRUE(has_two_ways());
  for (int run = 0; run < 2; ++run) session.objective({});  // of four steps
  EXPECT_FALSE(has_two_ways());
  EXPECT_NE(described(session, "a step"), "");
}

/// Where a gather reads the input of its stage in the cell itself alone, it leaves what it hands on there.
TEST(Wavefront, TakesFewerRowsWhereGathersHandOnInPlace) {
  const auto rings = [](const std::string& rate) {
    std::string text = squares("x: {cells: 2048, to: 1}, y: {cells: 45, to: 1}");
    const std::string old = "c*lap(u) - k*u*dy(u) - k*dy(u)^2";
    text.replace(text.find(old), old.size(), rate);
    text.replace(text.find("c: {}, "), 7, "");  // by which derivatives read lap(u)
    Wavefront::ask(Wavefront::Rows{2});
    Session session(test::text_case(text), test::self(), Sensitivities::adjoint);
    Wavefront::ask(Wavefront::AsItPays{});
    const std::string said = described(session, "a step reversed from its state alone"), before = "in rings of ";
    EXPECT_NE(said.find(before), std::string::npos) << said;
    return std::stod(said.substr(said.find(before) + before.size()));  // MiB, of rows of 17 KiB
  };
  EXPECT_LE(rings("c*lap(u) - k*u^2"), 0.4);
  EXPECT_GE(rings("c*lap(u) - k*u*dy(u)"), 0.6);
}

/// By one rank, of the periodic y of a plane, in steps forward or in a gradient that keeps every state.
template <class Way>
int messages(bool is_gradient, Way way) {
  std::string text = plane("cells: 17, to: 1", "cells: 200, to: 1", "rk4", 2);
  const std::string field = "{field: \"0.02 + 0.01*sin(3*x)*cos(2*y)\"}";
  text.replace(text.find(field), field.size(), "0.02").replace(text.find("host: 2"), 7, "host: 5");
  Wavefront::ask(way);
  Session session(test::text_case(text), test::world(), is_gradient ? Sensitivities::adjoint : Sensitivities::none);
  Wavefront::ask(Wavefront::AsItPays{});
  session.simulation().reverse_from_state(true);
  test::messages_sent = 0;
  if (is_gradient) {
    session.gradient({});
  } else {
    session.objective({});
  }
  return test::messages_sent;
}

TEST(Wavefront, SendsEachNeighbourOneMessagePerStep) {
  constexpr int steps = 4, stages = 4;
  const int sides = test::world().size() > 1 ? 2 : 0;
  EXPECT_EQ(messages(false, Wavefront::Never{}), steps * stages * sides);
  EXPECT_EQ(messages(false, Wavefront::Rows{4}), steps * sides);
  // The first sweep records its last step, whose gathers run pass by pass. A step reversed from its state exchanges
  // this and the multipliers.
  const int first_sweep = (steps - 1) + 1, last_gathers = stages, reversed = 2 * (steps - 1);
  EXPECT_EQ(messages(true, Wavefront::Rows{4}), (first_sweep + last_gathers + reversed) * sides);
}

}  // namespace
}  // namespace hindsight
