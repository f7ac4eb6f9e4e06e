// What the program can be asked to do; each returns the exit code. Errors are thrown.
#pragma once

#include <vector>

#include "runtime/communicator.hpp"
#include "runtime/error.hpp"
#include "src/options.hpp"
#include "src/session.hpp"

namespace hindsight {

ExitCode run_verb(const Options& options, const Communicator& comm);
ExitCode gradient_verb(const Options& options, const Communicator& comm);
ExitCode check_verb(const Options& options, const Communicator& comm);
ExitCode invert_verb(const Options& options, const Communicator& comm);
ExitCode observe_verb(const Options& options, const Communicator& comm);
ExitCode resume_verb(const Options& options, const Communicator& comm);
ExitCode status_verb(const Options& options, const Communicator& comm);
ExitCode clean_verb(const Options& options, const Communicator& comm);
ExitCode submit_verb(const Options& options, const Communicator& comm);
ExitCode cancel_verb(const Options& options, const Communicator& comm);
ExitCode sweep_verb(const Options& options, const Communicator& comm);
ExitCode plan_verb(const Options& options, const Communicator& comm);
ExitCode explain_verb(const Options& options, const Communicator& comm);
ExitCode schedule_verb(const Options& options, const Communicator& comm);
ExitCode info_verb(const Options& options, const Communicator& comm);
ExitCode init_verb(const Options& options, const Communicator& comm);
ExitCode schema_verb(const Options& options, const Communicator& comm);

using Verb = ExitCode (*)(const Options&, const Communicator&);

struct VerbEntry {
  const char* name;
  const char* summary;
  const char* target;  ///< what its argument is, or nullptr
  Verb run;
  bool can_be_resumed = false;
};

const std::vector<VerbEntry>& verbs();

/// Begins, or goes on with, a run of options.verb. @throws ResourceError when no verb that can be resumed has this
/// name.
ExitCode begin_run(const Options& options, const Communicator& comm);

/// The verb that a case asks for: invert with an inversion, gradient with unknowns, else run.
std::string verb_of(const Case& c);
/// Does that.
ExitCode default_verb(const Options& options, const Communicator& comm);

/// What the command line says about the plan of checkpoints, and the machine. Collective.
SessionOptions session_options(const Options& options, const Case& c, const Communicator& comm,
                               RunJournal* journal = nullptr, const ShotGroups* groups = nullptr);
/// The groups of ranks that share a case's shots; null where all ranks are one. Where --groups names none, their number
/// is the largest for which a shot's memory fits. Collective. @throws InputError
std::unique_ptr<ShotGroups> make_groups(const Options& options, const Case& c, const Communicator& comm,
                                        Sensitivities sensitivities);

/// Prints on rank 0.
void print(const Communicator& comm, const std::string& text);
/// The same, for people: not with --quiet, nor where JSON goes to standard output.
void say(const Options& options, const Communicator& comm, const std::string& text);

}  // namespace hindsight
