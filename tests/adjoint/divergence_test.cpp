// A state that is not finite is blamed on the operation that has no value, where it stands in the case, and where and
// when it happened.
// ranks: 1 2 3
#include "runtime/emulated/emulated_device.hpp"
#include "tests/support.hpp"

namespace hindsight {
namespace {

using namespace test;

/// What a run of the case says, on every rank.
std::string message_of(const std::string& text, bool on_device = false) {
  SessionOptions options;
  if (on_device) options.machine = emulated::open_machine();
  try {
    Session session(text_case(text), world(), Sensitivities::none, std::move(options));
    session.objective({});
  } catch (const NumericsError& error) {
    return error.what();
  }
  return "it ran";
}

void expect_parts(const std::string& message, const std::vector<std::string>& parts, bool is_growth = false) {
  for (const std::string& part : parts) EXPECT_NE(message.find(part), std::string::npos) << part << "\nin: " << message;
  EXPECT_EQ(message.find("a smaller time.step may be stable") != std::string::npos, is_growth) << message;
}

std::string ode(const std::string& right, const std::string& initial = "1") {
  return "case: ode\nparameters: {a: 0.5}\nstate: {v: {initial: 0}, u: {initial: \"" + initial +
         "\"}}\nequations:\n  dt(v): \"1\"\n  dt(u): \"" + right + "\"\ntime: {step: 0.1, to: 8}\n";
}

TEST(Divergence, OfOdesNamesTheOperation) {
  expect_parts(message_of(ode("u/0")), {"field 'u' is not finite after step 1 (t = 0.1): division by zero in 'u/0' of "
                                        "dt(u) (test.yaml:6:11)"});
  expect_parts(message_of(ode("1/(u - u)")), {"division by zero in '1/0' of dt(u) (test.yaml:6:11)"});
  expect_parts(message_of(ode("sqrt(-1)")), {"square root of a negative number (-1) in 'sqrt(-1)' of dt(u)"});
  expect_parts(message_of(ode("a + sqrt(0.45 - v)")), {"after step 5 (t = 0.5)",
                                                       "square root of a negative number (-0.05) "
                                                       "in 'sqrt(0.45 - v)' of dt(u) (test.yaml:6:11)"});
  expect_parts(message_of(ode("log(v - 1)")), {"after step 1 ", "logarithm of a negative number (-1) in 'log("});
  expect_parts(message_of(ode("log(v)")), {"logarithm of zero in 'log(v)'"});
  expect_parts(message_of(ode("(v - 1)^0.3")), {"power of a negative number (-1^0.3) in '"});
  expect_parts(message_of(ode("u/(step - 0.1)")), {"division by zero in 'u/(step - 0.1)' of dt(u)"});
  expect_parts(message_of(ode("v^a/v")), {"division by zero in 'v^a/v'"});
}

std::string with_time(const std::string& time) {
  return "case: ode\nstate: {u: {initial: 1}, v: {initial: 1}}\nequations:\n  dt(u): \"-1\"\n  dt(v): \"log(u)\"\n"
         "time: {" +
         time + ", to: 2}\n";
}

/// Whichever field comes first, and whether a stage is solved for or not.
TEST(Divergence, OfImplicitStepsNamesTheOperation) {
  for (const char* method : {"beuler", "cn", "bdf2", "sdirk3", "esdirk4", "ros3p", "rodas4"})
    expect_parts(message_of(with_time("method: " + std::string(method) + ", step: 0.05")),
                 {"field 'v' is not finite after step 2", "logarithm of a negative number (-",
                  "in 'log(u)' of dt(v) (test.yaml:5:11)"});
}

TEST(Divergence, OfStepsThatErrorsDecideNamesTheOperation) {
  for (const char* method : {"bs3", "dopri5", "rodas4", "esdirk4", "bdf2"})
    expect_parts(message_of(with_time("method: " + std::string(method) + ", tolerance: 1e-5")),
                 {"cannot be made short enough: with a length of ", "its estimated error is not finite: ",
                  "logarithm of a negative number (-", "in 'log(u)' of dt(v) (test.yaml:5:11)"});
}

TEST(Divergence, OfErrorsThatAreTooLargeNamesTheField) {
  for (const char* method : {"dopri5", "rodas4"}) {
    expect_parts(message_of(with_time("method: " + std::string(method) + ", tolerance: 1e-6, least: 0.9")),
                 {"times what the tolerance allows, largest in 'v', and time.least allows none below 0.9"});
    const std::string line =
        "case: line\ngrid: {x: {cells: 10, to: 1}}\nstate: {w: {initial: 1}, u: {initial: x}}\n"
        "equations: {dt(w): 0, dt(u): \"-u + 0.1*dx(u) + 0*w\"}\ntime: {method: " +
        std::string(method) + ", tolerance: 1e-9, least: 0.9, to: 10}\n";
    expect_parts(message_of(line), {"largest in 'u' at x = 0."});
  }
}

TEST(Divergence, OfEventsNamesTheOperation) {
  const std::string text =
      "case: event\ngrid: {x: {cells: 10, to: 1}}\nstate: {u: {initial: x}}\n"
      "equations: {dt(u): \"-u\"}\nevents: [{at: 2, set: {u: \"log(u - 0.03)\"}}]\ntime: {";
  for (const char* time : {"step: 0.1", "method: dopri5, tolerance: 1e-6", "method: sdirk3, step: 0.1"})
    for (const bool on_device : {false, true}) {
      if (on_device && std::string(time).find("sdirk3") != std::string::npos) continue;
      expect_parts(message_of(text + time + ", to: 10}\n", on_device),
                   {"at x = 0.05: the event at t = 2 gives 'u' a value that is not finite: logarithm of a negative "
                    "number (-0.02323",
                    "in 'log(u - 0.03)' of the event (test.yaml:5"});
    }
}

/// A branch that is not taken is not to blame.
TEST(Divergence, FollowsTheBranchThatIsTaken) {
  expect_parts(message_of(ode("where(v < 0.55, 0, sqrt(a - v)) + where(v > 100, 1/0, 0)")),
               {"after step 6 (t = 0.6)", "square root of a negative number", "'sqrt(a - v)'"});
}

TEST(Divergence, OfGrowthSaysThatTheMethodsAreExplicit) {
  expect_parts(message_of(ode("100*u^3")), {"overflow in 'u^2' of dt(u) (test.yaml:6:11); the methods are explicit"},
               true);
  expect_parts(message_of(ode("exp(1000*u)")), {"overflow in 'exp(1000*u)' of dt(u)"}, true);
  expect_parts(message_of(ode("-1e300*u")), {"field 'u' is not finite after step 1 ", "overflow"}, true);
}

TEST(Divergence, OfTheInitialStateNamesTheOperation) {
  expect_parts(
      message_of(ode("u", "1/(a - 0.5)")),
      {"the initial state is not finite: field 'u': division by zero in '1/(a - 0.5)' of the initial value of u "
       "(test.yaml:3:40)"});
}

std::string plate(const std::string& right, const std::string& kappa = "0.01", const std::string& wall = "0") {
  return "case: plate\ngrid: {x: {cells: 40, to: 1, boundary: {lower: {value: \"" + wall +
         "\"}, upper: {slope: 0}}}, y: {cells: 24, to: 1}}\nparameters: {a: 0.5, kappa: {field: \"" + kappa +
         "\"}}\nstate: {u: {initial: \"sin(pi*x)\"}}\nequations:\n  dt(u): \"" + right +
         "\"\ntime: {step: 0.01, to: 0.5}\n";
}

/// The cell lies on one of the ranks, whichever that is; a stage of the step may come before its end.
TEST(Divergence, OfFieldsNamesThePlace) {
  expect_parts(
      message_of(plate("div(kappa*grad(u)) + 1/where(t > 0.202 and y > 0.9 and x > 0.5, 0, 1)")),
      {"field 'u' is not finite after step 21 (t = 0.21) at x = 0.5125, y = 0.9375: division by zero in '1/where(",
       "of dt(u) (test.yaml:6:11)"});
  expect_parts(message_of(plate("sqrt(0.5 - dx(u))")),
               {"after step 1 ", "at x = 0.0125, y = ", "square root of a negative", "'sqrt(0.5 - "});
  expect_parts(message_of(plate("div(kappa*grad(u))", "sqrt(x - 0.1)")),
               {"square root of a negative number (-0.0",
                "'sqrt(x - 0.1)' of kappa (test.yaml:3:38), which dt(u) "
                "(test.yaml:6:11) reads"});
  expect_parts(message_of(plate("div(kappa*grad(u))", "0.01", "1/(t - 0.1)")),
               {"at x = 0.0125",
                "division by zero in '1/(t - 0.1)' of the value of u at the lower wall of x "
                "(test.yaml:2:57), which dt(u) (test.yaml:6:11) reads"});
  expect_parts(message_of(plate("div(kappa*grad(u)) + 1e6*u^3")),
               {"field 'u' is not finite after step ", " at x = ", "overflow in '"}, true);
}

TEST(Divergence, OfMembersOfAnEnsembleNamesTheMember) {
  const std::string text = R"yaml(
case: ensemble
grid: {x: {cells: 60, to: 1}}
parameters: {a: {field: "x"}}
state: {u: {initial: 1}}
equations: {dt(u): "-a*u - sqrt(0.9 - a + 0*u)"}
time: {step: 0.1, to: 1}
)yaml";
  for (const bool on_device : {false, true})
    expect_parts(message_of(text, on_device),
                 {"field 'u' is not finite after step 1 (t = 0.1) at x = 0.908333: square root "
                  "of a negative number (-0.00833333) in 'sqrt(0.9 - a)' of dt(u)"});
}

TEST(Divergence, IsToldOfDevicesToo) {
  expect_parts(message_of(plate("sqrt(0.5 - dx(u))"), true), {"at x = 0.0125, y = ", "'sqrt(0.5 - "});
}

}  // namespace
}  // namespace hindsight
