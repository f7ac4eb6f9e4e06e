// run.json: what a run folder knows of how its run began, so that resume can begin it again and refuse what differs.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "io/case/case.hpp"
#include "runtime/communicator.hpp"
#include "runtime/host/target.hpp"
#include "src/options.hpp"

namespace hindsight {

/// What the bits of kernels depend on beside the program that makes their text.
struct KernelSetting {
  host::Target target;
  std::string c_library;  ///< its version
  std::string device;     ///< and what compiles for it; empty: the host computes
  std::string compiler;   ///< for people: what a compiler may do is in the flags, which are the program's

  static KernelSetting here(const Options& options);
  /// What differs, in words; empty: nothing.
  std::string difference(const KernelSetting& now) const;
};

/// The commit and a checksum of the program that runs.
std::string program_identity();
/// The first line in which two texts differ: "'NOW' in place of 'BEFORE'"; empty: they are equal.
std::string first_difference(const std::string& before, const std::string& now);

struct RunManifest {
  std::string id;       ///< of the run, in the names of its files
  std::string name;     ///< of the case
  int generation = 0;   ///< of the journals; a new one begins with another number of ranks, and with another owner
  int copied_from = 0;  ///< the generation that this one begins with, while it is copied; else `generation`
  /// The process that may write files of this generation (ProcessIdentity's text). Empty when it has ended in order.
  std::string writer;
  int ranks = 1, groups = 1;  ///< groups: of ranks, which share the shots; 0: not known before the run begins
  std::string folder;         ///< where the program was started
  Options options;  ///< verb, target, set, shot, groups, out, petsc, its changes, backend, cost, emulate_disk, epoch
  std::string resolved;                     ///< the case
  std::map<std::string, std::string> data;  ///< CRC32C of the files that the case reads, by path
  std::string program;                      ///< what computes
  KernelSetting kernels;
  std::string petsc_options;  ///< from the environment
  std::string scratch;        ///< folder of checkpoint files, $NAME unexpanded; empty: that in the run folder

  static std::string file(const std::string& run) { return run + "/run.json"; }
  /// Where the run keeps its journals ("journal"), or its logs, of a generation, without the rank's number.
  static std::string file_of_generation(const std::string& run, const std::string& what, int generation) {
    return run + "/" + what + "-" + std::to_string(generation);
  }
  /// The file that says that the run is complete.
  /// Whether it is of this verb and of the case as it is now, with the same data.
  bool is_of(const std::string& verb, const Case& c) const;
  std::string result() const { return options.verb == "check" ? "check.json" : "result.json"; }
  /// Of a run that begins here and now. Reads all of the program and of the case's data: enough that rank 0 does.
  static RunManifest of(const Options& options, const std::string& run, const Case& c, int ranks);
  /// What rank 0 makes or reads, on all ranks. Collective; all throw what it throws.
  static RunManifest from_root(const Communicator& comm, const std::function<RunManifest()>& make);
  std::string to_text() const;
  /// @throws ResourceError when the text is damaged. @param source is named then.
  static RunManifest parse(const std::string& text, const std::string& source);
  /// The same of a run's file; InputError when there is none: nothing began in this folder.
  static RunManifest read(const std::string& run);
  /// The program, the kernels' setting and PETSc's options of another.
  void take_setting(const RunManifest& other);
  /// What differs from another run of the same verb, in words; empty: nothing. @param now of the same options, made
  /// now.
  std::string difference(const RunManifest& now) const;
};

}  // namespace hindsight
