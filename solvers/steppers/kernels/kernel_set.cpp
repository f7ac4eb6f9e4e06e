#include "solvers/steppers/kernels/kernel_set.hpp"

#include "solvers/steppers/reads.hpp"

namespace hindsight {
namespace {

constexpr Direction directions[] = {Direction::forward, Direction::reverse, Direction::tangent};

}  // namespace

KernelSet::KernelSet(const Model& model, const Active& active, std::string prefix)
    : model_(model),
      active_(active),
      prefix_(std::move(prefix)),
      zero_walls_(plain_walls(model.fields.size(), WallRule::zero)),
      mirror_walls_(plain_walls(1, WallRule::slope)) {}

KernelSet::~KernelSet() = default;

void KernelSet::add(KernelRequest request) {
  if (request.multiplier_arrays.size() > zero_walls_.size())
    zero_walls_ = plain_walls(request.multiplier_arrays.size(), WallRule::zero);
  kernels_.emplace_back(model_, active_, std::move(request));
}

void KernelSet::derive(const Derivatives& wanted) {
  if (wanted.adjoint)
    for (auto kernel = kernels_.rbegin(); kernel != kernels_.rend(); ++kernel) kernel->derive_adjoint();
  if (wanted.tangent)
    for (DifferentiatedKernel& kernel : kernels_) kernel.derive_tangent();
  std::vector<WallAdjoint::Stage> stages;
  for (DifferentiatedKernel& kernel : kernels_) {
    kernel.make_walls(prefix_, wanted, wall_kernels_);
    if (kernel.crosses_walls()) stages.push_back({kernel.stage(), kernel.series(), kernel.rings()});
  }
  if (wanted.adjoint && !stages.empty())
    wall_adjoint_ =
        std::make_unique<WallAdjoint>(model_, active_, stages, kernels_.front().share(), prefix_, wall_kernels_);
}

std::vector<const KernelSpec*> KernelSet::specs(Direction direction) const {
  std::vector<const KernelSpec*> all;
  const auto append = [&](const DifferentiatedKernel& kernel) {
    for (const KernelSpec* spec : kernel.specs(direction)) all.push_back(spec);
  };
  if (direction == Direction::reverse)
    for (auto kernel = kernels_.rbegin(); kernel != kernels_.rend(); ++kernel) append(*kernel);
  else
    for (const DifferentiatedKernel& kernel : kernels_) append(kernel);
  return all;
}

std::array<int, 3> KernelSet::halo() const {
  std::array<int, 3> halo{0, 0, 0};
  for (const DifferentiatedKernel& kernel : kernels_) halo = deeper(halo, kernel.halo());
  return halo;
}

std::array<int, 3> KernelSet::halo_from(std::size_t kernels, std::array<int, 3> written) const {
  std::array<int, 3> halo = written;
  for (std::size_t i = kernels; i-- > 0;) {
    const DifferentiatedKernel& kernel = kernels_[i % kernels_.size()];
    halo = deeper(halo, hindsight::add(written, kernel.reads(Direction::forward)));
    written = deeper(kernel.recorded_reach().depth, hindsight::add(written, kernel.value_reach().depth));
    halo = deeper(halo, written);
  }
  return halo;
}

std::array<int, 3> KernelSet::halo_one_after_another(std::size_t times) const {
  return halo_from(times * kernels_.size(), {0, 0, 0});
}

std::array<int, 3> KernelSet::halo_there_and_back() const {
  std::array<int, 3> written{0, 0, 0}, halo{0, 0, 0};
  for (const DifferentiatedKernel& kernel : kernels_) {
    halo = deeper(halo, hindsight::add(written, kernel.reads(Direction::reverse)));
    // The last one's multiplier comes from elsewhere.
    if (&kernel != &kernels_.back()) written = hindsight::add(written, kernel.gather_reach().depth);
  }
  if (kernels_.back().gathers_states_beside())
    written = hindsight::add(written, kernels_.back().recorded_reach().depth);
  return deeper(halo, halo_from(kernels_.size() - 1, written));
}

std::vector<Stepper::Described> KernelSet::describe() const {
  std::vector<Stepper::Described> all;
  const auto tell = [&](const char* role, const KernelSpec& kernel) {
    if (!kernel.roots().empty()) all.push_back({role, &kernel});
  };
  for (const DifferentiatedKernel& kernel : kernels_) tell("forward", kernel.value());
  for (auto kernel = kernels_.rbegin(); kernel != kernels_.rend(); ++kernel) {
    tell("adjoint", kernel->gather().main);
    tell("adjoint near walls", kernel->gather().border);
    for (const GatherKernels::Ring& ring : kernel->gather().rings) tell("adjoint at walls", ring.spec);
  }
  for (const DifferentiatedKernel& kernel : kernels_) tell("tangent", kernel.tangent());
  return all;
}

void KernelSet::compile(const Grid& grid, Libraries libraries, std::size_t longest) {
  std::vector<std::vector<KernelSpec>> groups;
  for (const Direction direction : directions) {
    const std::vector<const KernelSpec*> all = specs(direction);
    if (all.empty()) continue;
    if (groups.empty() || libraries == Libraries::one_per_direction) groups.emplace_back();
    for (const KernelSpec* spec : all) groups.back().push_back(*spec);
  }
  const Communicator& comm = grid.communicator();
  for (const std::vector<KernelSpec>& group : groups)
    libraries_.emplace_back(group, boxes_of(grid.dimensions()), comm, grid.machine(), longest);
  wall_library_ = KernelLibrary(wall_kernels_, Boxes::line, comm, grid.machine());
}

Kernel KernelSet::loaded(const KernelSpec& spec) const {
  for (const KernelLibrary& library : libraries_)
    if (const Kernel kernel = library.find(spec.name)) return kernel;
  return {};
}

void KernelSet::prepare(const Grid& grid, Tables& tables, const std::vector<std::size_t>& knots, Libraries libraries,
                        std::size_t longest, const std::vector<Box>* around_sources,
                        const std::vector<Box>* gathered_in) {
  grid_ = &grid;
  compile(grid, libraries, longest);
  for (const Direction direction : directions)
    noise_[static_cast<std::size_t>(direction)] = noises_read(*model_.graph, specs(direction));
  const KernelContext context{grid,
                              tables,
                              [this](const KernelSpec& spec) { return loaded(spec); },
                              wall_library_,
                              zero_walls_,
                              mirror_walls_,
                              wall_adjoint_.get(),
                              knots,
                              around_sources,
                              gathered_in};
  for (DifferentiatedKernel& kernel : kernels_) kernel.prepare(context);
}

std::vector<const KernelLibrary*> KernelSet::libraries() const {
  std::vector<const KernelLibrary*> all;
  for (const KernelLibrary& library : libraries_) all.push_back(&library);
  all.push_back(&wall_library_);
  return all;
}

void KernelSet::clear_sums() {
  if (wall_adjoint_) wall_adjoint_->clear();
}

void KernelSet::save_sums(BlockWriter& to) const {
  if (wall_adjoint_) wall_adjoint_->save(to, *grid_);
}

void KernelSet::restore_sums(BlockReader& from) {
  if (wall_adjoint_) wall_adjoint_->restore(from, *grid_);
}

void KernelSet::add_sums(std::vector<double>& scalars, std::vector<std::vector<double>>& knots) const {
  if (wall_adjoint_) wall_adjoint_->add_sums(*grid_, scalars, knots);
}

}  // namespace hindsight
