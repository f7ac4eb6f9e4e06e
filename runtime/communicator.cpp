#include "runtime/communicator.hpp"

#include <new>

#include "runtime/error.hpp"

namespace hindsight {

bool Communicator::any(bool here) const {
  if (size_ == 1) return here;
  int mine = here ? 1 : 0;
  int all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MAX, comm_);
  return all != 0;
}

namespace {

void broadcast_from(int root, std::string& text, MPI_Comm comm) {
  auto length = static_cast<std::int64_t>(text.size());
  MPI_Bcast(&length, 1, MPI_INT64_T, root, comm);
  text.resize(static_cast<std::size_t>(length));
  MPI_Bcast(text.data(), static_cast<int>(length), MPI_CHAR, root, comm);
}

/// The lowest rank whose text is not empty, or `size`.
int first_with_text(const std::string& text, int rank, int size, MPI_Comm comm) {
  int mine = text.empty() ? size : rank;
  int first = mine;
  if (size > 1) MPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, comm);
  return first;
}

}  // namespace

void Communicator::root_first(const std::function<void()>& work) const {
  on_root(work);
  together([&] {
    if (!is_root()) work();
  });
}

std::string Communicator::first_text(const std::string& text) const {
  const int first = first_with_text(text, rank_, size_, comm_);
  std::string all = text;
  if (first < size_ && size_ > 1) broadcast_from(first, all, comm_);
  return all;
}

void Communicator::agree(const std::string& message, int code) const {
  const int first = first_with_text(message, rank_, size_, comm_);
  if (first == size_) return;
  std::string text = message;
  if (size_ > 1) {
    MPI_Bcast(&code, 1, MPI_INT, first, comm_);
    broadcast_from(first, text, comm_);
  }
  throw_error(static_cast<ExitCode>(code), text);
}

void Communicator::together(const std::function<void()>& work) const {
  std::string failure;
  ExitCode code = ExitCode::resource;
  try {
    work();
  } catch (const Error& error) {
    failure = error.what();
    code = error.code();
  } catch (const std::bad_alloc&) {
    failure = "out of memory";
  } catch (const std::exception& error) {
    failure = error.what();
  }
  agree(failure, static_cast<int>(code));
}

void Communicator::on_root(const std::function<void()>& work) const {
  together([&] {
    if (is_root()) work();
  });
}

void Communicator::sum(std::span<double> values) const {
  if (size_ == 1 || values.empty()) return;
  MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_DOUBLE, MPI_SUM, comm_);
}

std::int64_t Communicator::max(std::int64_t value) const {
  if (size_ > 1) MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT64_T, MPI_MAX, comm_);
  return value;
}

double Communicator::max(double value) const {
  if (size_ > 1) MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_MAX, comm_);
  return value;
}

std::string Communicator::broadcast(const std::string& text) const {
  std::string copy = text;
  if (size_ > 1) broadcast_from(0, copy, comm_);
  return copy;
}

}  // namespace hindsight
