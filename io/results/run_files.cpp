#include "io/results/run_files.hpp"

#include <algorithm>
#include <filesystem>
#include <regex>

#include "io/results/successor.hpp"
#include "runtime/error.hpp"

namespace hindsight {
namespace {

namespace fs = std::filesystem;

bool is_result(const std::string& name) {
  const std::vector<std::string>& all = result_names();
  return std::find(all.begin(), all.end(), name) != all.end();
}

bool is_file_of_jobs(const std::string& name) {
  static const std::regex names(R"(submit\.(sbatch|json)(\.partial)?|jobs\.log|job-\d+\.out)");
  return std::regex_match(name, names);
}

/// The folder's own name, whatever path leads to it.
std::string own_name(const std::string& folder) {
  std::error_code error;
  return fs::canonical(folder, error).filename();
}

/// Names in a folder, sorted; none when it is not there.
std::vector<std::string> names_in(const std::string& folder) {
  std::error_code error;
  std::vector<std::string> names;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    if (const std::string name = at->path().filename(); name.front() != '.') names.push_back(name);
  if (error && error != std::errc::no_such_file_or_directory)
    throw ResourceError("cannot read the run folder '" + folder + "': " + error.message());
  std::sort(names.begin(), names.end());
  return names;
}

/// A folder that runs make is theirs unless something else is in it.
template <class IsOurs>
void add_folder(RunFiles& files, const std::string& folder, const std::string& name, IsOurs is_ours) {
  const std::vector<std::string> names = names_in(folder + "/" + name);
  for (const std::string& inside : names)
    if (!is_ours(inside)) files.others.push_back(name + "/" + inside);
}

}  // namespace

const std::vector<std::string>& result_names() {
  static const std::vector<std::string> names = {"case.yaml",       "log.jsonl",   "fields.xdmf", "fields.h5",
                                                 "misfits.h5",      "gradient.h5", "estimate.h5", "estimates.h5",
                                                 "convergence.csv", "result.json", "check.json"};
  return names;
}

std::vector<std::string> result_names(const std::string& verb) {
  if (verb == "check") return {"check.json"};
  std::vector<std::string> names = {"case.yaml", "log.jsonl", "fields.xdmf", "fields.h5", "misfits.h5"};
  if (verb == "gradient") names.emplace_back("gradient.h5");
  if (verb == "invert") names.insert(names.end(), {"estimate.h5", "estimates.h5", "convergence.csv"});
  names.emplace_back("result.json");
  return names;
}

bool is_work_file(const std::string& name) {
  static const std::regex ranks(R"((journal|evaluations)-\d+\.\d+(\.partial)?|(sums|tape|slots)-\d+-[01]\.\d+)");
  static const std::regex others(R"(status(-\d+)?\.json(\.partial)?|lock\..+\.\d+)");
  // The last: of MPI libraries that share file pointers.
  static const std::regex partial(R"((.+)\.partial(\.copy|-\d+-\d+\.lock)?|(log\.jsonl)\.copy)");
  if (std::regex_match(name, ranks) || std::regex_match(name, others)) return true;
  std::smatch found;
  if (!std::regex_match(name, found, partial)) return false;
  const std::string whole = found[1].matched ? found[1] : found[3];
  return whole == "run.json" || is_result(whole);
}

bool is_of_generation(const std::string& name, int generation) {
  const std::string number = "-" + std::to_string(generation);
  return std::regex_match(
      name, std::regex("(journal|evaluations)" + number + R"(\.\d+|(sums|tape|slots))" + number + R"(-[01]\.\d+)"));
}

bool is_checkpoint_file(const std::string& name) {
  static const std::regex checkpoints(R"(checkpoints-[0-9a-f]+(-\d+)*-rank\d+\.h5)");
  return std::regex_match(name, checkpoints);
}

RunFiles list_run_files(const std::string& folder) {
  const auto is_of_run = [](const std::string& name) {
    return is_result(name) || name == "run.json" || is_work_file(name) || name == "scratch";
  };
  const std::string picture = own_name(folder) + ".png";
  RunFiles files;
  for (const std::string& name : names_in(folder)) {
    if (is_result(name)) {
      files.results.push_back(name);
    } else if (name == "run.json" || name == picture) {
      files.about.push_back(name);
    } else if (is_file_of_jobs(name)) {
      files.jobs.push_back(name);
    } else if (is_work_file(name)) {
      files.work.push_back(name);
    } else if (name == "scratch") {
      add_folder(files, folder, name, is_checkpoint_file);
    } else if (name == successor_name || name == whole_successor_name) {
      add_folder(files, folder, name, is_of_run);
    } else if (name != "lock") {
      files.others.push_back(name);
    }
  }
  return files;
}

void refuse_to_remove(const std::string& file, const std::vector<std::string>& inputs) {
  for (const std::string& input : inputs) {
    std::error_code error;
    if (fs::equivalent(file, input, error))
      throw InputError("the case reads '" + input + "', which a run in this folder would remove as '" + file +
                       "'; choose another folder: --out FOLDER");
  }
}

}  // namespace hindsight
