#include "solvers/equations/parser.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <optional>
#include <set>

#include "runtime/nearest_name.hpp"
#include "solvers/equations/interpret.hpp"
#include "solvers/equations/lexer.hpp"
#include "solvers/equations/model.hpp"

namespace hindsight {
namespace {

constexpr int deepest = 200;
constexpr std::size_t most_nodes = 200000;
constexpr int most_terms = 1000000;  ///< numbers, names and calls read, function bodies included

struct Builtin {
  const char* name;
  int arguments;
  Expr (*build)(Expr, Expr, Expr);
};

const std::vector<Builtin>& builtins() {
  static const std::vector<Builtin> all = {
      {"abs", 1, [](Expr a, Expr, Expr) { return abs(a); }},
      {"sqrt", 1, [](Expr a, Expr, Expr) { return sqrt(a); }},
      {"exp", 1, [](Expr a, Expr, Expr) { return exp(a); }},
      {"log", 1, [](Expr a, Expr, Expr) { return log(a); }},
      {"sin", 1, [](Expr a, Expr, Expr) { return sin(a); }},
      {"cos", 1, [](Expr a, Expr, Expr) { return cos(a); }},
      {"tan", 1, [](Expr a, Expr, Expr) { return tan(a); }},
      {"tanh", 1, [](Expr a, Expr, Expr) { return tanh(a); }},
      {"min", 2, [](Expr a, Expr b, Expr) { return min(a, b); }},
      {"max", 2, [](Expr a, Expr b, Expr) { return max(a, b); }},
      {"where", 3, [](Expr a, Expr b, Expr c) { return where(a, b, c); }},
  };
  return all;
}

const std::vector<std::string> operators = {"dx",  "dy",    "dz",  "dxx",  "dyy",   "dzz",
                                            "lap", "grad2", "div", "grad", "upwind"};
const std::vector<std::string> random_functions = {"noise", "uniform"};
const std::vector<std::string> axis_names = {"x", "y", "z"};
const std::vector<std::string> spacing_names = {"hx", "hy", "hz"};

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// What one expression may cost, together with the functions that it calls.
struct Budget {
  std::size_t first_node = 0;
  int terms = 0;
};

class Parser {
 public:
  using Locals = std::map<std::string, Expr>;

  Parser(Graph& graph, const std::string& text, const Scope& scope, const SourcePlace& place,
         std::vector<std::string> calls, Locals locals, int depth, Budget& budget)
      : graph_(graph),
        text_(text),
        scope_(scope),
        place_(place),
        calls_(std::move(calls)),
        locals_(std::move(locals)),
        depth_(depth),
        budget_(budget),
        tokens_(tokenise(text, place)) {}

  Expr parse_all() {
    if (peek().kind == Token::Kind::end) fail(peek(), "an expression is missing");
    const Expr e = disjunction();
    if (peek().kind != Token::Kind::end) fail(peek(), "unexpected '" + peek().text + "' after the expression");
    return e;
  }

 private:
  const Token& peek() const { return tokens_[next_]; }
  const Token& take() { return tokens_[next_ + 1 < tokens_.size() ? next_++ : next_]; }
  bool is(const char* text) const { return peek().kind != Token::Kind::end && peek().text == text; }
  bool accept(const char* text) {
    if (!is(text)) return false;
    take();
    return true;
  }
  [[noreturn]] void fail(const Token& token, const std::string& message) const {
    throw InputError(place_in(text_, place_, token.column), message);
  }
  void expect(const char* symbol, const std::string& where) {
    if (accept(symbol)) return;
    const std::string found = peek().kind == Token::Kind::end ? "the end" : "'" + peek().text + "'";
    fail(peek(), std::string("expected '") + symbol + "' " + where + ", found " + found);
  }

  struct Deeper {
    explicit Deeper(Parser& p) : parser(p) {
      if (++parser.depth_ > deepest) parser.fail(parser.peek(), "the expression is nested too deeply (200 levels)");
    }
    ~Deeper() { --parser.depth_; }
    Deeper(const Deeper&) = delete;
    Deeper& operator=(const Deeper&) = delete;
    Parser& parser;
  };

  /// Functions that call functions twice double the work at every level, and need not add nodes.
  void spend() {
    if (++budget_.terms > most_terms)
      fail(peek(), "the expression is too long with its functions written out (1000000 terms)");
    if (graph_.size() - budget_.first_node > most_nodes) fail(peek(), "the expression is too large (200000 nodes)");
  }

  Expr disjunction() {
    Expr a = conjunction();
    while (accept("or")) a = graph_.make(Op::logical_or, {a, conjunction()});
    return a;
  }

  Expr conjunction() {
    Expr a = negation();
    while (accept("and")) a = graph_.make(Op::logical_and, {a, negation()});
    return a;
  }

  Expr negation() {
    if (!accept("not")) return comparison();
    const Deeper deeper(*this);
    return graph_.make(Op::logical_not, {negation()});
  }

  Expr comparison() {
    const Expr a = sum();
    if (!is_comparison()) return a;
    const std::string symbol = take().text;
    const Expr b = sum();
    if (is_comparison()) fail(peek(), "comparisons do not chain: write a < b and b < c");
    if (symbol == "<") return a < b;
    if (symbol == "<=") return a <= b;
    if (symbol == ">") return a > b;
    if (symbol == ">=") return a >= b;
    const Expr equal = graph_.make(Op::equal, {a, b});
    return symbol == "==" ? equal : graph_.make(Op::logical_not, {equal});
  }

  bool is_comparison() const { return is("<") || is("<=") || is(">") || is(">=") || is("==") || is("!="); }

  Expr sum() {
    Expr a = product();
    for (;;) {
      if (accept("+")) {
        a = a + product();
      } else if (accept("-")) {
        a = a - product();
      } else {
        return a;
      }
    }
  }

  Expr product() {
    Expr a = sign();
    for (;;) {
      if (accept("*")) {
        a = a * sign();
      } else if (accept("/")) {
        a = a / sign();
      } else {
        return a;
      }
    }
  }

  Expr sign() {
    if (!is("-") && !is("+")) return power();
    const Deeper deeper(*this);
    const bool negative = take().text == "-";
    const Expr e = sign();
    return negative ? -e : e;
  }

  Expr power() {
    const Expr base = primary();
    if (!accept("^")) return base;
    const Deeper deeper(*this);
    return pow(base, sign());
  }

  Expr primary() {
    const Deeper deeper(*this);
    spend();
    const Token token = take();
    if (token.kind == Token::Kind::number) return graph_.constant(token.value);
    if (token.kind == Token::Kind::symbol && token.text == "(") {
      const Expr e = disjunction();
      expect(")", "to close the parenthesis");
      return e;
    }
    if (token.kind == Token::Kind::name) return is("(") ? call(token) : name(token);
    fail(token, token.kind == Token::Kind::end ? "the expression ends too early" : "unexpected '" + token.text + "'");
  }

  Expr name(const Token& token) {
    const std::string& text = token.text;
    if (const auto local = locals_.find(text); local != locals_.end()) return local->second;
    if (text == "pi") return graph_.constant(std::numbers::pi);
    for (int axis = 0; axis < scope_.dimensions; ++axis)
      if (text == axis_names[static_cast<std::size_t>(axis)]) return graph_.coordinate(axis);
    if (contains(scope_.scalars, text)) return graph_.scalar(text);
    if (contains(scope_.fields, text)) return graph_.field(text);
    if (const auto user = scope_.functions.find(text); user != scope_.functions.end())
      fail(token, "'" + text + "' is a function: write " + text + (user->second.arguments.empty() ? "()" : "(...)"));
    if (contains(function_names(), text)) fail(token, "'" + text + "' is a function: write " + text + "(...)");
    for (std::size_t axis = 0; axis < scope_.spacing.size(); ++axis)
      if (text == spacing_names[axis]) return graph_.constant(scope_.spacing[axis]);
    if (scope_.step && text == "step") return graph_.scalar(step_length);
    fail(token, "unknown name '" + text + "'" + did_you_mean(text, value_names()) +
                    "; known here: " + (value_names().empty() ? "numbers only" : join(value_names())));
  }

  std::vector<std::string> value_names() const {
    std::vector<std::string> names = scope_.fields;
    names.insert(names.end(), scope_.scalars.begin(), scope_.scalars.end());
    for (const auto& [name, value] : locals_) names.push_back(name);
    for (int axis = 0; axis < scope_.dimensions; ++axis) names.push_back(axis_names[static_cast<std::size_t>(axis)]);
    names.insert(names.end(), spacing_names.begin(),
                 spacing_names.begin() + static_cast<std::ptrdiff_t>(scope_.spacing.size()));
    if (scope_.step) names.emplace_back("step");
    names.emplace_back("pi");
    return names;
  }

  std::vector<std::string> function_names() const {
    std::vector<std::string> names;
    for (const auto& [name, function] : scope_.functions) names.push_back(name);
    for (const Builtin& b : builtins()) names.emplace_back(b.name);
    if (scope_.random != Scope::Random::none)
      names.insert(names.end(), random_functions.begin(), random_functions.end());
    if (!scope_.rates.empty()) names.emplace_back("dt");
    if (scope_.operators) names.insert(names.end(), operators.begin(), operators.end());
    return names;
  }

  Expr call(const Token& token) {
    if (contains(operators, token.text)) return operation(token);
    if (contains(random_functions, token.text)) return random(token);
    if (token.text == "dt" && !scope_.rates.empty()) return rate(token);
    take();  // (
    std::vector<Expr> arguments;
    if (!is(")")) {
      arguments.push_back(disjunction());
      while (accept(",")) arguments.push_back(disjunction());
    }
    expect(")", "to close the call of " + token.text);
    if (const auto user = scope_.functions.find(token.text); user != scope_.functions.end())
      return call_user(token, user->second, arguments);
    for (const Builtin& b : builtins()) {
      if (token.text != b.name) continue;
      check_count(token, arguments.size(), static_cast<std::size_t>(b.arguments));
      arguments.resize(3, arguments[0]);
      return b.build(arguments[0], arguments[1], arguments[2]);
    }
    fail(token, "unknown function '" + token.text + "'" + did_you_mean(token.text, function_names()) +
                    "; known: " + join(function_names()));
  }

  void check_count(const Token& token, std::size_t given, std::size_t wanted) const {
    if (given != wanted)
      fail(token, token.text + " takes " + std::to_string(wanted) + " argument" + (wanted == 1 ? "" : "s") + ", not " +
                      std::to_string(given));
  }

  Expr call_user(const Token& token, const UserFunction& function, const std::vector<Expr>& arguments) {
    check_count(token, arguments.size(), function.arguments.size());
    if (contains(calls_, function.name)) fail(token, "function '" + function.name + "' calls itself");
    Locals locals;
    for (std::size_t i = 0; i < arguments.size(); ++i) locals[function.arguments[i]] = arguments[i];
    std::vector<std::string> calls = calls_;
    calls.push_back(function.name);
    return Parser(graph_, function.body, scope_, function.place, calls, locals, depth_, budget_).parse_all();
  }

  Expr rate(const Token& token) {
    take();  // (
    const Token field = take();
    if (!contains(scope_.rates, field.text))
      fail(field, "dt(...) takes the state whose equation this is" + did_you_mean(field.text, scope_.rates) + ": " +
                      join(scope_.rates));
    expect(")", "to close " + token.text);
    return graph_.field(Model::rate(field.text));
  }

  Expr random(const Token& token) {
    if (scope_.random == Scope::Random::none)
      fail(token, token.text +
                      " cannot be used here: only in equations, initial values, parameter fields, final and integral "
                      "terms");
    take();  // (
    std::vector<Token> places;
    std::vector<Expr> arguments;
    while (!is(")")) {
      if (!arguments.empty()) expect(",", "in " + token.text + "(seed, stream)");
      places.push_back(peek());
      arguments.push_back(disjunction());
    }
    take();  // )
    check_count(token, arguments.size(), 2);
    Noise noise;
    noise.is_normal = token.text == "noise";
    noise.changes_with_step = scope_.random == Scope::Random::of_cell_and_step;
    noise.seed = counting_number(places[0], arguments[0], "seed");
    noise.stream = counting_number(places[1], arguments[1], "stream");
    return graph_.noise(noise);
  }

  std::uint32_t counting_number(const Token& token, Expr e, const char* what) const {
    constexpr std::uint32_t most = std::numeric_limits<std::uint32_t>::max();
    const double value = e.is_constant() ? e.node().value : -1.0;
    if (!(value >= 0 && value <= most && value == std::floor(value)))
      fail(token, fmt::format("the {} must be an integer constant from 0 to {}", what, most));
    return static_cast<std::uint32_t>(value);
  }

  Expr operation(const Token& token) {
    if (!scope_.operators) fail(token, token.text + " cannot be used here: only values at the point itself");
    if (scope_.dimensions == 0) fail(token, token.text + " needs a grid: this case is an ODE");
    take();  // (
    Expr result;
    if (token.text == "div") {
      result = divergence(token);
    } else if (token.text == "grad") {
      fail(token, "grad(...) stands only inside div(k*grad(u)); use dx(u), or grad2(u) for its square");
    } else if (token.text == "upwind") {
      const Expr velocity = disjunction();
      expect(",", "in upwind(velocity, field, axis)");
      const Expr e = disjunction();
      expect(",", "in upwind(velocity, field, axis)");
      const Token axis = take();
      result = upwind(velocity, e, axis_of(axis, axis.text));
    } else if (token.text == "lap") {
      result = laplacian(disjunction(), scope_.dimensions);
    } else if (token.text == "grad2") {
      result = grad2(disjunction(), scope_.dimensions);
    } else {
      const int axis = axis_of(token, token.text.substr(1, 1));
      result = derivative(disjunction(), axis, static_cast<int>(token.text.size()) - 1);
    }
    expect(")", "to close " + token.text);
    return result;
  }

  int axis_of(const Token& token, const std::string& name) const {
    for (int axis = 0; axis < scope_.dimensions; ++axis)
      if (name == axis_names[static_cast<std::size_t>(axis)]) return axis;
    fail(token, "the grid has no axis '" + name + "'; its axes are " +
                    join({axis_names.begin(), axis_names.begin() + scope_.dimensions}));
  }

  /// The inside of div( ): a product with exactly one factor grad(u); everything else is the coefficient.
  Expr divergence(const Token& token) {
    Expr coefficient = graph_.constant(1.0), field;
    bool divide = false;
    while (is("-") || is("+"))
      if (take().text == "-") coefficient = -coefficient;
    do {
      if (is("grad")) {
        if (field.is_valid() || divide) fail(peek(), "div(...) takes one factor grad(u)");
        take();
        expect("(", "after grad");
        field = disjunction();
        expect(")", "to close grad");
      } else {
        const Expr factor = sign();
        coefficient = divide ? coefficient / factor : coefficient * factor;
      }
      divide = is("/");
    } while (accept("*") || accept("/"));
    if (!field.is_valid()) fail(token, "div(...) must contain grad: write div(k*grad(u))");
    return div_grad(coefficient, field);
  }

  Graph& graph_;
  const std::string& text_;
  const Scope& scope_;
  SourcePlace place_;
  std::vector<std::string> calls_;
  Locals locals_;
  int depth_;
  Budget& budget_;
  std::vector<Token> tokens_;
  std::size_t next_ = 0;
};

}  // namespace

Expr parse(Graph& graph, const std::string& text, const Scope& scope, const SourcePlace& place) {
  Budget budget{graph.size(), 0};
  return Parser(graph, text, scope, place, {}, {}, 0, budget).parse_all();
}

double parse_number(const std::string& text) {
  Graph graph;
  Scope numbers_only;
  numbers_only.operators = false;
  return interpret({parse(graph, text, numbers_only, {})}, {})[0];
}

const std::vector<std::string>& reserved_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all = operators;
    all.insert(all.end(), random_functions.begin(), random_functions.end());
    for (const Builtin& b : builtins()) all.emplace_back(b.name);
    for (const char* word : {"t", "pi", "and", "or", "not", "dt", "dtt", "initial", "norm"}) all.emplace_back(word);
    return all;
  }();
  return names;
}

}  // namespace hindsight
