// What several tests need: sessions made from case text, gradients compared bit by bit with a run on one rank.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "io/case/case.hpp"
#include "runtime/emulated/emulated_device.hpp"
#include "solvers/steppers/methods.hpp"
#include "src/session.hpp"

namespace hindsight::test {

/// A case of this project, or text of a test, with overrides. In a bundle, HINDSIGHT_SOURCE says where cases are.
Case shipped_case(const std::string& name, const std::vector<std::string>& set = {});
Case text_case(const std::string& text, const std::vector<std::string>& set = {});

Communicator world();
Communicator self();

/// A CUDA device where there is one, else an emulated one. Collective.
std::unique_ptr<Machine> device(const Communicator& comm = world());

/// The methods that take equations dt(...).
std::vector<std::string> first_order_methods();

/// The cells that this rank owns, taken from the values of a run on one rank (x fastest).
std::vector<double> owned_part(const Grid& grid, const std::vector<double>& all);

/// What a run says when it fails, or its gradient, where sensitivities are wanted; empty: it does not.
std::string failure_of(const std::string& text, Sensitivities wanted = Sensitivities::none);

/// Objective and every derivative agree in all bits.
void expect_same_bits(const Session& here, const Evaluation& mine, const Evaluation& serial);

/// A direction over all unknowns that does not depend on the number of ranks.
UnknownValues some_direction(const Session& session, double phase);

/// Asserts that tangent and adjoint agree and that Taylor remainders fall with the square of the step.
void expect_right_gradient(Session& session, double largest_step = 1e-2, double dot_tolerance = 1e-12);

}  // namespace hindsight::test
