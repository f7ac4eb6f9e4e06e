#include "solvers/equations/parser.hpp"

#include <gtest/gtest.h>

#include <numbers>

#include "tests/equations/periodic_grid.hpp"

namespace hindsight {
namespace {

Scope scope_2d() {
  Scope scope;
  scope.dimensions = 2;
  scope.scalars = {"a", "b", "kappa"};
  scope.fields = {"u", "v"};
  scope.functions["square"] = {"square", {"s"}, "s*s", {"case.yaml", 40, 11}};
  scope.functions["shadow"] = {"shadow", {"u"}, "u + a", {"case.yaml", 41, 11}};
  scope.functions["loop"] = {"loop", {"s"}, "1 + pool(s)", {"case.yaml", 42, 11}};
  scope.functions["pool"] = {"pool", {"s"}, "loop(s)", {"case.yaml", 43, 11}};
  scope.functions["wrong"] = {"wrong", {"s"}, "s + oops", {"case.yaml", 44, 11}};
  scope.functions["f0"] = {"f0", {}, "3", {"case.yaml", 45, 11}};
  scope.functions["white"] = {"white", {"s"}, "3*noise(s, f0())", {"case.yaml", 46, 11}};
  scope.random = Scope::Random::of_cell_and_step;
  return scope;
}

double number(const std::string& text) {
  Graph graph;
  const Expr e = parse(graph, text, scope_2d(), {});
  return testing::value_of(e, {{"a", 2.0}, {"b", -3.0}, {"kappa", 0.5}, {"u", 5.0}, {"v", 7.0}});
}

TEST(Parser, PrecedenceAndAssociativity) {
  EXPECT_EQ(number("1 + 2*3"), 7);
  EXPECT_EQ(number("(1 + 2)*3"), 9);
  EXPECT_EQ(number("10 - 3 - 2"), 5);
  EXPECT_EQ(number("16/4/2"), 2);
  EXPECT_EQ(number("16/4*2"), 8);
  EXPECT_EQ(number("-2^2"), -4);
  EXPECT_EQ(number("-a^2"), -4);
  EXPECT_EQ(number("(-a)^2"), 4);
  EXPECT_EQ(number("2^3^2"), 512);
  EXPECT_EQ(number("2^-1"), 0.5);
  EXPECT_EQ(number("a^-2"), 0.25);
  EXPECT_EQ(number("2*-3"), -6);
  EXPECT_EQ(number("--2"), 2);
  EXPECT_EQ(number("+2 - -2"), 4);
  EXPECT_EQ(number(".5 + 1e-3 + 2.5E+1"), 25.501);
  EXPECT_EQ(number("pi"), std::numbers::pi);
}

TEST(Parser, Conditions) {
  EXPECT_EQ(number("1 < 2"), 1);
  EXPECT_EQ(number("2 <= 1"), 0);
  EXPECT_EQ(number("a > b and u >= v"), 0);
  EXPECT_EQ(number("a > b or u >= v"), 1);
  EXPECT_EQ(number("not a > b"), 0);
  EXPECT_EQ(number("not not a > b"), 1);
  EXPECT_EQ(number("1 or 0 and 0"), 1) << "and binds tighter than or";
  EXPECT_EQ(number("a + 1 == 3"), 1);
  EXPECT_EQ(number("a != 2"), 0);
  EXPECT_EQ(number("where(a > 0, u, v)"), 5);
  EXPECT_EQ(number("where(a < 0, u, v)"), 7);
}

TEST(Parser, Functions) {
  EXPECT_EQ(number("abs(b)"), 3);
  EXPECT_EQ(number("min(a, b) + max(a, b)"), -1);
  EXPECT_EQ(number("sqrt(16) + exp(0) + log(1)"), 5);
  EXPECT_EQ(number("sin(0) + cos(0) + tan(0) + tanh(0)"), 1);
  EXPECT_EQ(number("square(a + 1)"), 9);
  EXPECT_EQ(number("square(square(a))"), 16);
  EXPECT_EQ(number("shadow(100)"), 102) << "arguments shadow fields";
  EXPECT_EQ(number("f0()*2"), 6);
}

TEST(Parser, OperatorsBuildTheGraphThatOperatorOverloadingBuilds) {
  Graph graph;
  const Scope scope = scope_2d();
  const auto text = [&](const std::string& t) { return parse(graph, t, scope, {}); };
  const Expr u = graph.field("u"), v = graph.field("v"), a = graph.scalar("a");
  EXPECT_TRUE(text("lap(u)").same_as(laplacian(u, 2)));
  EXPECT_TRUE(text("grad2(u)").same_as(grad2(u, 2)));
  EXPECT_TRUE(text("dx(u)").same_as(derivative(u, 0, 1)));
  EXPECT_TRUE(text("dyy(u*v)").same_as(derivative(u * v, 1, 2)));
  EXPECT_TRUE(text("upwind(v, u, y)").same_as(upwind(v, u, 1)));
  EXPECT_TRUE(text("div(grad(u))").same_as(div_grad(graph.constant(1.0), u)));
  EXPECT_TRUE(text("div(a*grad(u))").same_as(div_grad(a, u)));
  EXPECT_TRUE(text("div(grad(u)*a)").same_as(div_grad(a, u)));
  EXPECT_TRUE(text("div(-a*grad(u))").same_as(div_grad(-a, u)));
  EXPECT_TRUE(text("div(a*v*grad(u))").same_as(div_grad(a * v, u)));
  EXPECT_TRUE(text("div(a*grad(u)/v)").same_as(div_grad(a / v, u)));
  EXPECT_TRUE(text("div((1 + u^2)*grad(u))").same_as(div_grad(1.0 + u * u, u)));
}

TEST(Parser, RandomNumbersAreFieldsKnownByKindSeedAndStream) {
  Graph graph;
  Scope scope = scope_2d();
  const auto text = [&](const std::string& t) { return parse(graph, t, scope, {}); };
  const Expr e = text("noise(7, 3)");
  EXPECT_EQ(e.node().op, Op::field);
  EXPECT_TRUE(text("noise(2*3 + 1, f0())").same_as(e));
  EXPECT_TRUE(text("white(7)").same_as(3.0 * e));
  EXPECT_TRUE(text("dx(noise(7, 3))").same_as(derivative(e, 0, 1)));
  EXPECT_EQ(graph.noises().size(), 1U);
  EXPECT_FALSE(text("uniform(7, 3)").same_as(e));
  EXPECT_FALSE(text("noise(3, 7)").same_as(e));
  scope.random = Scope::Random::of_cell;
  EXPECT_FALSE(text("noise(7, 3)").same_as(e));
  ASSERT_EQ(graph.noises().size(), 4U);
  const Noise &uniform = graph.noises()[1], &last = graph.noises()[3];
  EXPECT_TRUE(!uniform.is_normal && uniform.changes_with_step && uniform.seed == 7 && uniform.stream == 3);
  EXPECT_TRUE(last.is_normal && !last.changes_with_step && last.seed == 7 && last.stream == 3);
}

TEST(Parser, TwoHundredLevelsAreAllowed) {
  EXPECT_EQ(number(std::string(190, '(') + "7" + std::string(190, ')')), 7);
  std::string power = "1";
  for (int i = 0; i < 90; ++i) power = "1^" + power;
  EXPECT_EQ(number(power), 1);
}

struct BadExpression {
  const char* text;
  int column;
  const char* message;
};

TEST(Parser, ErrorsSayWhatAndWhere) {
  const std::vector<BadExpression> bad = {
      {"", 1, "an expression is missing"},
      {"   ", 4, "an expression is missing"},
      {"u +", 4, "ends too early"},
      {"u + * v", 5, "unexpected '*'"},
      {"u v", 3, "unexpected 'v' after the expression"},
      {"(u + v", 7, "expected ')'"},
      {"u)", 2, "unexpected ')'"},
      {"2u", 1, "write products with *"},
      {"1.2.3", 1, "malformed number"},
      {"1e999", 1, "too large or too small"},
      {"1 + 1e-999", 5, "too large or too small"},
      {"u**2", 2, "powers are written with ^"},
      {"a && b", 3, "write and"},
      {"u + \xc3\xa9", 5, "unexpected byte 0xc3"},
      {"a - (a < b == u)", 12, "comparisons do not chain"},
      {"u $ v", 3, "unexpected character '$'"},
      {"u ^", 4, "ends too early"},
      {"a < b < u", 7, "comparisons do not chain"},
      {"a = b", 3, "write == to compare"},
      {"1 + kapa", 5, "did you mean 'kappa'?"},
      {"1 + qqqqqq", 5, "known here: u, v, a, b, kappa, x, y, pi"},
      {"z", 1, "unknown name 'z'"},
      {"t", 1, "unknown name 't'"},
      {"sin", 1, "write sin(...)"},
      {"sin()", 1, "sin takes 1 argument, not 0"},
      {"1 + sin(u, v)", 5, "sin takes 1 argument, not 2"},
      {"min(u)", 1, "min takes 2 arguments, not 1"},
      {"where(u, v)", 1, "where takes 3 arguments, not 2"},
      {"square(u, v)", 1, "square takes 1 argument, not 2"},
      {"f0(u)", 1, "f0 takes 0 arguments, not 1"},
      {"sqr(u)", 1, "did you mean 'sqrt'?"},
      {"sin(u", 6, "to close the call of sin"},
      {"dz(u)", 1, "no axis 'z'; its axes are x, y"},
      {"upwind(u, v, z)", 14, "no axis 'z'"},
      {"upwind(u, v, 1)", 14, "no axis '1'"},
      {"upwind(u, v)", 12, "upwind(velocity, field, axis)"},
      {"lap(u, v)", 6, "expected ')' to close lap"},
      {"lap()", 5, "unexpected ')'"},
      {"grad(u)", 1, "only inside div(k*grad(u))"},
      {"1 + div(u)", 5, "must contain grad"},
      {"div(grad(u)*grad(v))", 13, "one factor grad(u)"},
      {"div(a/grad(u))", 7, "one factor grad(u)"},
      {"div(a*grad(u) + v)", 15, "expected ')' to close div"},
      {"div(a + grad(u))", 1, "must contain grad"},
      {"noise", 1, "write noise(...)"},
      {"noyse(1, 0)", 1, "did you mean 'noise'?"},
      {"1 + noise()", 5, "noise takes 2 arguments, not 0"},
      {"noise(1)", 1, "noise takes 2 arguments, not 1"},
      {"1 + uniform(1, 2, 3)", 5, "uniform takes 2 arguments, not 3"},
      {"noise(1 2)", 9, "expected ',' in noise(seed, stream)"},
      {"noise(1,", 9, "ends too early"},
      {"noise(1, 2", 11, "expected ',' in noise(seed, stream)"},
      {"noise(a, 0)", 7, "the seed must be an integer constant from 0 to 4294967295"},
      {"noise(1, u)", 10, "the stream must be an integer constant"},
      {"noise(1.5, 0)", 7, "the seed must be"},
      {"noise(-1, 0)", 7, "the seed must be"},
      {"noise(0, 4294967296)", 10, "the stream must be"},
      {"uniform(0/0, 0)", 9, "the seed must be"},
      {"noise(noise(1, 0), 0)", 7, "the seed must be"},
  };
  for (const BadExpression& b : bad) {
    Graph graph;
    try {
      parse(graph, b.text, scope_2d(), {"case.yaml", 12, 1});
      ADD_FAILURE() << "no error: " << b.text;
    } catch (const InputError& error) {
      const std::string message = error.what(), place = "case.yaml:12:" + std::to_string(b.column) + ": ";
      EXPECT_EQ(message.substr(0, place.size()), place) << b.text << "\n" << message;
      EXPECT_NE(message.find(b.message), std::string::npos) << b.text << "\n" << message;
      EXPECT_EQ(error.code(), ExitCode::bad_input);
    }
  }
}

std::string error_of(const std::string& text, const Scope& scope, const SourcePlace& place) {
  Graph graph;
  try {
    parse(graph, text, scope, place);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(Parser, ColumnsCountFromTheStartOfTheText) {
  EXPECT_EQ(error_of("u + $", scope_2d(), {"f", 3, 20}).substr(0, 7), "f:3:24:");
  EXPECT_EQ(error_of("u +\n  $", scope_2d(), {"f", 3, 20}).substr(0, 6), "f:4:3:");
}

TEST(Parser, ErrorsInAFunctionNameItsOwnPlace) {
  EXPECT_EQ(error_of("1 + wrong(u)", scope_2d(), {"f", 1, 1}).substr(0, 22), "case.yaml:44:15: unkno");
}

TEST(Parser, RecursionIsAnError) {
  EXPECT_NE(error_of("loop(u)", scope_2d(), {}).find("'loop' calls itself"), std::string::npos);
}

TEST(Parser, OperatorsNeedAGridAndPermission) {
  Scope ode = scope_2d();
  ode.dimensions = 0;
  EXPECT_NE(error_of("lap(u)", ode, {}).find("needs a grid"), std::string::npos);
  EXPECT_NE(error_of("x", ode, {}).find("unknown name 'x'"), std::string::npos);
  Scope plain = scope_2d();
  plain.operators = false;
  EXPECT_NE(error_of("lap(u)", plain, {}).find("cannot be used here"), std::string::npos);
}

TEST(Parser, RandomNumbersNeedPermission) {
  Scope plain = scope_2d();
  plain.random = Scope::Random::none;
  EXPECT_EQ(error_of("1 + noise(1, 0)", plain, {"f", 1, 1}).substr(0, 33), "f:1:5: noise cannot be used here:");
}

TEST(Parser, HostileNestingAndDoublingEndWithAnError) {
  const Scope scope = scope_2d();
  for (const std::string nest : {"(", "-", "sin(", "not ", "2^", "where(", "div(", "min(u,", "square("}) {
    std::string text;
    for (int i = 0; i < 5000; ++i) text += nest;
    EXPECT_FALSE(error_of(text + "u", scope, {}).empty()) << nest;
  }
  Scope doubling = scope;
  doubling.functions["g0"] = {"g0", {"s"}, "s + u", {}};
  for (int i = 1; i < 60; ++i) {
    const std::string inner = "g" + std::to_string(i - 1), name = "g" + std::to_string(i);
    doubling.functions[name] = {name, {"s"}, inner + "(s) + " + inner + "(s)", {}};
  }
  EXPECT_NE(error_of("g59(v)", doubling, {}).find("too long"), std::string::npos);
  for (int i = 1; i < 60; ++i) {
    const std::string inner = "g" + std::to_string(i - 1), name = "g" + std::to_string(i);
    doubling.functions[name].body =
        inner + "(s + " + std::to_string(i) + ") * " + inner + "(s*" + std::to_string(i + 1) + ")";
  }
  EXPECT_NE(error_of("g59(v)", doubling, {}).find("too "), std::string::npos);
}

TEST(Parser, ExpressionsOfNumbersHaveAValue) {
  EXPECT_EQ(parse_number("8/3"), 8.0 / 3.0);
  EXPECT_EQ(parse_number("2*pi/24"), 2 * std::numbers::pi / 24);
  EXPECT_EQ(parse_number("-2^2"), -4.0);
  EXPECT_EQ(parse_number("1e-3*5"), 1e-3 * 5);
  EXPECT_EQ(parse_number("sqrt(2)"), std::sqrt(2.0));
  EXPECT_EQ(parse_number("where(1 < 2, 3, 4)"), 3.0);
  EXPECT_TRUE(std::isinf(parse_number("1/0")));
  EXPECT_TRUE(std::isnan(parse_number("sqrt(-1)")));
  for (const char* bad : {"", "a", "x", "t", "8/", "noise(1, 0)", "dx(1)", "2 3"})
    EXPECT_THROW(parse_number(bad), InputError) << bad;
}

TEST(Parser, FunctionsWithoutArgumentsAreCalledWithParentheses) {
  Scope scope;
  scope.scalars = {"a", "t"};
  scope.functions["source"] = {"source", {}, "a*sin(t)", {"case.yaml", 2, 1}};
  Graph graph;
  const SourcePlace place{"case.yaml", 1, 1};
  EXPECT_TRUE(parse(graph, "2*source()", scope, place).same_as(parse(graph, "2*(a*sin(t))", scope, place)));
  EXPECT_NE(error_of("source", scope, {}).find("'source' is a function: write source()"), std::string::npos);
  EXPECT_NE(error_of("source(a)", scope, {}).find("source takes 0 arguments, not 1"), std::string::npos);
  EXPECT_NE(error_of("sqrt()", scope, {}).find("sqrt takes 1 argument, not 0"), std::string::npos);
}

TEST(Parser, OwnNamesGoBeforeThoseOfCellsAndSteps) {
  Scope scope;
  scope.dimensions = 1;
  scope.spacing = {0.25};
  scope.step = true;
  Graph graph;
  const SourcePlace place{"case.yaml", 1, 1};
  EXPECT_TRUE(parse(graph, "hx", scope, place).is_constant(0.25));
  EXPECT_TRUE(parse(graph, "step", scope, place).same_as(graph.scalar(step_length)));
  EXPECT_NE(error_of("hy", scope, {}).find("unknown name 'hy'; did you mean 'hx'?"), std::string::npos);
  scope.scalars = {"hx"};
  scope.functions["step"] = {"step", {"s"}, "where(s > 0, 1, 0)", {}};
  EXPECT_TRUE(parse(graph, "hx", scope, place).same_as(graph.scalar("hx")));
  EXPECT_TRUE(parse(graph, "step(1)", scope, place).is_constant(1.0));
  EXPECT_NE(error_of("step", scope, {}).find("'step' is a function: write step(...)"), std::string::npos);
}

TEST(Parser, ReservedNamesHoldAllWordsOfTheLanguage) {
  const std::vector<std::string>& names = reserved_names();
  for (const char* word :
       {"sin", "where", "lap", "div", "grad", "upwind", "t", "pi", "and", "or", "not", "noise", "uniform"})
    EXPECT_NE(std::find(names.begin(), names.end(), word), names.end()) << word;
  for (const char* free : {"x", "y", "z", "h", "hx", "step"})  // coordinates are names of a grid's axes
    EXPECT_EQ(std::find(names.begin(), names.end(), free), names.end()) << free;
}

}  // namespace
}  // namespace hindsight
