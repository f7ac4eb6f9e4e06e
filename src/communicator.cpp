#include "src/communicator.hpp"

#include "src/error.hpp"

namespace hindsight {

bool Communicator::any(bool here) const {
  if (size_ == 1) return here;
  int mine = here ? 1 : 0;
  int all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MAX, comm_);
  return all != 0;
}

void Communicator::agree(const std::string& message, int code) const {
  int mine = message.empty() ? size_ : rank_;
  int first = mine;
  if (size_ > 1) MPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, comm_);
  if (first == size_) return;
  std::string text = message;
  int length = static_cast<int>(text.size());
  if (size_ > 1) {
    MPI_Bcast(&length, 1, MPI_INT, first, comm_);
    MPI_Bcast(&code, 1, MPI_INT, first, comm_);
    text.resize(static_cast<std::size_t>(length));
    MPI_Bcast(text.data(), length, MPI_CHAR, first, comm_);
  }
  throw Error(static_cast<ExitCode>(code), text);
}

void Communicator::sum(std::vector<double>& values) const {
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
  if (size_ == 1) return text;
  auto length = static_cast<std::int64_t>(text.size());
  MPI_Bcast(&length, 1, MPI_INT64_T, 0, comm_);
  std::string copy = text;
  copy.resize(static_cast<std::size_t>(length));
  MPI_Bcast(copy.data(), static_cast<int>(length), MPI_CHAR, 0, comm_);
  return copy;
}

}  // namespace hindsight
