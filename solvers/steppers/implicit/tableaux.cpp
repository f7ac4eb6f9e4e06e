#include "solvers/steppers/implicit/tableaux.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace hindsight {
namespace {

/// Any multiple of b less the weights of an embedded method of order p comes from another one of that order. Published
/// ones that are taken as they are let runs end at 20 to 30 times their tolerance.
constexpr double distance = 5.0;

/// Fills in b, which is the last row of a, c, and the error from the embedded weights.
Tableau completed(Tableau t, const std::vector<double>& embedded, double times = 1.0) {
  t.b = t.a.back();
  for (const std::vector<double>& row : t.a) {
    double sum = 0.0;
    for (const double entry : row) sum += entry;
    t.c.push_back(sum);
  }
  for (std::size_t i = 0; i < embedded.size(); ++i) t.error.push_back(times * (t.b[i] - embedded[i]));
  return t;
}

Tableau sdirk2() {
  const double g = 1.0 - std::sqrt(0.5);
  return completed({.name = "sdirk2", .order = 2, .a = {{g}, {1.0 - g, g}}, .b = {}, .c = {}, .embedded_order = 1},
                   {1.0, 0.0});
}

/// gamma is the root of x^3 - 3x^2 + 3x/2 - 1/6 near 0.436; the embedded method of order 2 leaves the last stage out.
Tableau sdirk3() {
  double g = 0.435866521508459;
  for (int i = 0; i < 3; ++i) g -= (((g - 3.0) * g + 1.5) * g - 1.0 / 6.0) / ((3.0 * g - 6.0) * g + 1.5);
  const double c2 = 0.5 * (1.0 + g);
  const double b1 = -0.25 * ((6.0 * g - 16.0) * g + 1.0), b2 = 0.25 * ((6.0 * g - 20.0) * g + 5.0);
  const double e2 = (0.5 - g) / (c2 - g);
  return completed(
      {.name = "sdirk3", .order = 3, .a = {{g}, {c2 - g, g}, {b1, b2, g}}, .b = {}, .c = {}, .embedded_order = 2},
      {1.0 - e2, e2, 0.0});
}

Tableau esdirk4() {
  const double g = 0.25;
  return completed({.name = "esdirk4",
                    .order = 4,
                    .a = {{0.0},
                          {0.25, g},
                          {8611.0 / 62500.0, -1743.0 / 31250.0, g},
                          {5012029.0 / 34652500.0, -654441.0 / 2922500.0, 174375.0 / 388108.0, g},
                          {15267082809.0 / 155376265600.0, -71443401.0 / 120774400.0, 730878875.0 / 902184768.0,
                           2285395.0 / 8070912.0, g},
                          {82889.0 / 524892.0, 0.0, 15625.0 / 83664.0, 69875.0 / 102672.0, -2260.0 / 8211.0, g}},
                    .b = {},
                    .c = {},
                    .embedded_order = 3},
                   {4586570599.0 / 29645900160.0, 0.0, 178811875.0 / 945068544.0, 814220225.0 / 1159782912.0,
                    -3700637.0 / 11593932.0, 61727.0 / 225920.0},
                   distance);
}

/// @param rows of the explicit method. The implicit one tells everything else.
AdditiveTableau additive(const std::string& name, std::vector<std::vector<double>> rows, Tableau implicit_part) {
  implicit_part.name = name;
  Tableau explicit_part = implicit_part;
  explicit_part.a = std::move(rows);
  return {std::move(explicit_part), std::move(implicit_part)};
}

AdditiveTableau ark3() {
  const double g = 1767732205903.0 / 4055673282236.0;
  const Tableau implicit_part =
      completed({.name = {},
                 .order = 3,
                 .a = {{0.0},
                       {g, g},
                       {2746238789719.0 / 10658868560708.0, -640167445237.0 / 6845629431997.0, g},
                       {1471266399579.0 / 7840856788654.0, -4482444167858.0 / 7529755066697.0,
                        11266239266428.0 / 11593286722821.0, g}},
                 .b = {},
                 .c = {},
                 .embedded_order = 2},
                {2756255671327.0 / 12835298489170.0, -10771552573575.0 / 22201958757719.0,
                 9247589265047.0 / 10645013368117.0, 2193209047091.0 / 5459859503100.0},
                2.0);
  return additive(
      "ark3",
      {{},
       {1767732205903.0 / 2027836641118.0},
       {5535828885825.0 / 10492691773637.0, 788022342437.0 / 10882634858940.0},
       {6485989280629.0 / 16251701735622.0, -4246266847089.0 / 9704473918619.0, 10755448449292.0 / 10357097424841.0}},
      implicit_part);
}

AdditiveTableau ark4() {
  return additive(
      "ark4",
      {{},
       {0.5},
       {13861.0 / 62500.0, 6889.0 / 62500.0},
       {-116923316275.0 / 2393684061468.0, -2731218467317.0 / 15368042101831.0, 9408046702089.0 / 11113171139209.0},
       {-451086348788.0 / 2902428689909.0, -2682348792572.0 / 7519795681897.0, 12662868775082.0 / 11960479115383.0,
        3355817975965.0 / 11060851509271.0},
       {647845179188.0 / 3216320057751.0, 73281519250.0 / 8382639484533.0, 552539513391.0 / 3454668386233.0,
        3354512671639.0 / 8306763924573.0, 4040.0 / 17871.0}},
      esdirk4());
}

/// Its published embedded formula has no error where F is linear, so it estimates nothing there: (1/3, 1/3, 1/3).
RosenbrockTableau ros3p() {
  const double r = std::sqrt(3.0), g = 0.5 + r / 6.0;
  RosenbrockTableau t;
  t.name = "ros3p";
  t.order = 3;
  t.gamma = g;
  t.a = {{}, {1.0 / g}, {1.0 / g, 0.0}};
  t.c = {{}, {-1.0 / (g * g)}, {-(1.0 + (2.0 - 0.5 / g) / g) / g, -(2.0 - 0.5 / g) / g}};
  t.m = {(1.0 + (2.0 / 3.0 - 1.0 / (6.0 * g)) / g) / g, (2.0 / 3.0 - 1.0 / (6.0 * g)) / g, 1.0 / (3.0 * g)};
  t.alpha = {0.0, 1.0, 1.0};
  t.gammas = {g, g - 1.0, 0.5 - 2.0 * g};
  t.embedded_order = 2;
  return t;
}

RosenbrockTableau rodas4() {
  RosenbrockTableau t;
  t.name = "rodas4";
  t.order = 4;
  t.gamma = 0.25;
  t.a = {{},
         {1.544},
         {0.9466785280815826, 0.2557011698983284},
         {3.314825187068521, 2.896124015972201, 0.9986419139977817},
         {1.221224509226641, 6.019134481288629, 12.53708332932087, -0.6878860361058950},
         {1.221224509226641, 6.019134481288629, 12.53708332932087, -0.6878860361058950, 1.0}};
  t.c = {{},
         {-5.6688},
         {-2.430093356833875, -0.2063599157091915},
         {-0.1073529058151375, -9.594562251023355, -20.47028614809616},
         {7.496443313967647, -10.24680431464352, -33.99990352819905, 11.70890893206160},
         {8.083246795921522, -7.981132988064893, -31.52159432874371, 16.31930543123136, -6.058818238834054}};
  t.m = {1.221224509226641, 6.019134481288629, 12.53708332932087, -0.6878860361058950, 1.0, 1.0};
  t.alpha = {0.0, 0.386, 0.21, 0.63, 1.0, 1.0};
  t.gammas = {0.25, -0.1043, 0.1035, -0.0362, 0.0, 0.0};
  t.error = {0.0, 0.0, 0.0, 0.0, 0.0, 1.0};
  t.embedded_order = 3;
  return t;
}

}  // namespace

const std::vector<Tableau>& diagonal_tableaux() {
  static const std::vector<Tableau> all = {
      completed({.name = "beuler", .order = 1, .a = {{1.0}}, .b = {}, .c = {}}, {}),
      completed({.name = "cn", .order = 2, .a = {{0.0}, {0.5, 0.5}}, .b = {}, .c = {}}, {}), sdirk2(), sdirk3(),
      esdirk4()};
  return all;
}

Tableau theta_tableau(double theta) {
  return completed(
      {.name = "theta", .order = theta == 0.5 ? 2 : 1, .a = {{0.0}, {1.0 - theta, theta}}, .b = {}, .c = {}}, {});
}

const std::vector<AdditiveTableau>& additive_tableaux() {
  static const std::vector<AdditiveTableau> all = {ark3(), ark4()};
  return all;
}

bool RosenbrockTableau::is_stiffly_accurate() const {
  return m.back() == 1.0 && std::equal(a.back().begin(), a.back().end(), m.begin()) && alpha.back() == 1.0;
}

const std::vector<RosenbrockTableau>& rosenbrock_tableaux() {
  static const std::vector<RosenbrockTableau> all = {ros3p(), rodas4()};
  return all;
}

}  // namespace hindsight
