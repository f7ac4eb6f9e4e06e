#include "src/verbs.hpp"

#include "src/same_start.hpp"

namespace hindsight {

const std::vector<VerbEntry>& verbs() {
  static const std::vector<VerbEntry> all = {
      {"run", "simulate a case", "CASE", run_verb, true},
      {"gradient", "simulate a case and differentiate its objective", "CASE", gradient_verb, true},
      {"check", "test a gradient against the tangent model and differences of runs", "CASE", check_verb, true},
      {"invert", "find the unknowns that minimise the objective", "CASE", invert_verb, true},
      {"observe", "write what misfits' sensors would see, as the tables that misfits read", "CASE", observe_verb},
      {"resume", "go on with a run that was stopped or killed", "RUN", resume_verb},
      {"status", "say how far a run is, from another terminal", "RUN", status_verb},
      {"clean", "remove what only going on with a run needs", "RUN", clean_verb},
      {"submit", "compute a run in jobs of SLURM, one after another", "CASE|RUN", submit_verb},
      {"sweep", "compute a table of independent runs, in an array of jobs or here", "TABLE", sweep_verb},
      {"cancel", "end the jobs of a run or a sweep, which can be gone on with", "RUN", cancel_verb},
      {"plan", "show which schedule and how much memory a gradient will use", "CASE", plan_verb},
      {"explain", "show the derived equations, kernels and memory plan", "CASE", explain_verb},
      {"schedule", "run a checkpoint schedule on the simulated machine and print its counts", "KIND", schedule_verb},
      {"info", "show what this build and this machine can do", nullptr, info_verb},
      {"init", "print a case file to start from: ode or pde", "KIND", init_verb},
      {"schema", "print the JSON Schema of case files", nullptr, schema_verb},
  };
  return all;
}

ExitCode begin_run(const Options& options, const Communicator& comm) {
  for (const VerbEntry& entry : verbs())
    if (entry.can_be_resumed && entry.name == options.verb) return entry.run(options, comm);
  throw ResourceError("run.json names the verb '" + options.verb + "', which this program does not have");
}

std::string verb_of(const Case& c) {
  return c.inversion ? "invert" : c.unknowns.empty() ? "run" : "gradient";
}

ExitCode default_verb(const Options& options, const Communicator& comm) {
  const Case c = read_same_case(options, comm);
  Options chosen = options;
  chosen.verb = verb_of(c);
  return begin_run(chosen, comm);
}

}  // namespace hindsight
