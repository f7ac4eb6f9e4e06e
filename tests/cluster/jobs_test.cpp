// What jobs of SLURM leave in a run's folder, and what is made of it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <map>

#include "io/journal/process_identity.hpp"
#include "io/slurm/job.hpp"
#include "io/slurm/slurm.hpp"
#include "src/cluster/chain.hpp"
#include "src/cluster/job_options.hpp"
#include "src/cluster/sweep.hpp"
#include "src/cluster/sweep_script.hpp"
#include "tests/program/program.hpp"

namespace hindsight {
namespace {

std::optional<JobIdentity> job_with(const std::string& cluster, const std::string& job, const std::string& restart) {
  const std::map<std::string, std::string> variables = {{"SLURMD_NODENAME", "n1"},
                                                        {"SLURM_CLUSTER_NAME", cluster},
                                                        {"SLURM_JOB_ID", job},
                                                        {"SLURM_RESTART_COUNT", restart}};
  return this_job([&](const std::string& name) { return variables.at(name); });
}

TEST(Job, IsReadFromTheEnvironment) {
  EXPECT_EQ(job_with("", "", ""), std::nullopt);
  EXPECT_EQ(job_with("here", "", ""), std::nullopt);
  EXPECT_EQ(job_with("here", "17", ""), (JobIdentity{"here", "17", 0, geteuid()}));
  EXPECT_EQ(job_with("here", "17", "2"), (JobIdentity{"here", "17", 2, geteuid()}));
  EXPECT_EQ(job_with("here", "x", "2"), std::nullopt);
  EXPECT_EQ(this_job([](const std::string& name) { return name == "SLURMD_NODENAME" ? "" : "1"; }), std::nullopt);
}

TEST(Job, IsReadBack) {
  const JobIdentity job{"here", "17", 2, 1000};
  EXPECT_EQ(parse_job(to_text(job)), job);
  for (const char* text : {"", "here", "here 17", "here x 0 0", "here 17 -1 0", "here 17 0", "here 17 0 0 more"})
    EXPECT_EQ(parse_job(text), std::nullopt) << text;
}

TEST(Job, StandsInALock) {
  ProcessIdentity mine = this_process();
  mine.job.reset();
  const std::string without = to_text(mine);
  mine.job = {"here", "17", 1, 1000};
  EXPECT_EQ(parse_identity(to_text(mine)), mine);
  EXPECT_EQ(parse_identity(without)->job, std::nullopt);  // as locks outside of jobs are
}

/// This process as one of a job, until the end.
class InJob {
 public:
  InJob(const char* job, const char* restart) {
    setenv("SLURMD_NODENAME", "n1", 1);
    setenv("SLURM_CLUSTER_NAME", "nowhere", 1);
    setenv("SLURM_JOB_ID", job, 1);
    setenv("SLURM_RESTART_COUNT", restart, 1);
  }
  ~InJob() {
    for (const char* name : {"SLURMD_NODENAME", "SLURM_CLUSTER_NAME", "SLURM_JOB_ID", "SLURM_RESTART_COUNT"})
      unsetenv(name);
  }
  InJob(const InJob&) = delete;
  InJob& operator=(const InJob&) = delete;
};

TEST(Job, OfALowerRestartIsGivenUp) {
  const InJob here("17", "1");
  ProcessIdentity owner = this_process();
  owner.host = "another";
  owner.job = {"nowhere", "17", 0, 0};
  EXPECT_EQ(liveness(owner), Liveness::given_up);
  owner.job->restart = 1;
  EXPECT_EQ(liveness(owner), Liveness::unknown);
}

const char* const log = R"(2026-11-23T15:00:00Z chain 1 begins: at most 20 jobs
2026-11-23T15:00:00Z chain 1 job 5 queued
2026-11-23T15:00:05Z chain 1 job 5 begins on n1 at epoch 0
2026-11-23T15:01:00Z chain 1 ends: cancelled
2026-11-23T16:00:00Z chain 2 begins: at most 20 jobs on here
2026-11-23T16:00:00Z chain 2 job 17 queued
2026-11-23T16:00:00Z chain 1 job 5 ends with code 5 at epoch 0
2026-11-23T16:00:05Z chain 2 job 17 begins on n[1-2] at epoch 0
2026-11-23T16:00:05Z chain 2 job 18 queued
2026-11-23T16:01:00Z chain 2 job 17 ends with code 5 at epoch 14
2026-11-23T16:01:02Z chain 2 job 18 begins on n3 at epoch 14
2026-11-23T16:01:02Z chain 2 job 19 queued
2026-11-23T16:01:30Z chain 2 job 18 ends with co)";

TEST(Chain, IsReadFromItsLog) {
  EXPECT_TRUE(JobLog::parse("").is_empty());
  const JobLog found = JobLog::parse(log);
  ASSERT_EQ(found.chains().size(), 2U);
  EXPECT_EQ(found.chains()[0].end, "cancelled");
  EXPECT_EQ(found.chains()[0].jobs[0].code, 5);
  const Chain& chain = found.newest();
  EXPECT_EQ(chain.number, 2);
  EXPECT_EQ(chain.end, "");
  ASSERT_EQ(chain.jobs.size(), 3U);
  EXPECT_EQ(chain.jobs[0].id, "17");
  EXPECT_EQ(chain.jobs[0].code, 5);
  EXPECT_EQ(chain.jobs[0].nodes, "n[1-2]");
  EXPECT_EQ(chain.jobs[1].ended, "");  // half a line says nothing
  EXPECT_EQ(chain.jobs[2].begun, "");
  EXPECT_EQ(found.chains()[0].cluster, "");
  EXPECT_EQ(chain.cluster, "here");
  EXPECT_EQ(
      JobLog::parse(std::string(log) + "de 0\n2026-11-23T16:01:31Z chain 2 ends: the run is complete\n").newest().end,
      "the run is complete");
}

/// What the shell says of a script.
int checked(const std::string& script) {
  const std::string path = testing::TempDir() + "script.sh";
  std::ofstream(path) << script;
  return test::run_command("bash -n '" + path + "'");
}

TEST(Scripts, AreGoodShell) {
  JobRequest request{.name = "hindsight:it's", .ranks = 4, .nodes = 2, .seconds = 5400};
  request.sbatch = {"--comment=two words", "-p", "gpu", "--qos=long"};
  const std::string script = chain_script(request, "/runs/100% it's", "/opt/hindsight", 20);
  EXPECT_EQ(checked(script), 0);
  EXPECT_NE(script.find("#SBATCH --ntasks=4\n#SBATCH --nodes=2\n#SBATCH --time=1:30:00\n"), std::string::npos)
      << script;
  EXPECT_NE(script.find("#SBATCH '--comment=two words'\n#SBATCH -p gpu\n#SBATCH --qos=long\n"), std::string::npos);
  EXPECT_NE(script.find("--output=/runs/100%% it"), std::string::npos);
  EXPECT_EQ(checked(sweep_script(request, "/runs/a", "/opt/hindsight")), 0);
  EXPECT_EQ(quoted_word("it's"), "'it'\\''s'");
  EXPECT_EQ(quoted_word("a-b_c=1"), "a-b_c=1");
}

TEST(Scripts, AskForWhatTheCommandLineSays) {
  ClusterOptions options;
  options.memory = "1.5 GiB";
  options.time = "1h30min";
  options.ranks = 1;
  EXPECT_EQ(job_request(options, "name").memory, 1536LL << 20U);
  EXPECT_EQ(job_request(options, "name").seconds, 5400);
  for (const char* memory : {"500 MB", "8G", "0.5T", "2000000K"}) {
    options.memory = memory;
    EXPECT_GT(job_request(options, "name").memory, 1LL << 28U) << memory;
  }
  for (const char* memory : {"much", "-1G", "8", "1 KiB", "8 GiB of it"}) {
    options.memory = memory;
    EXPECT_THROW(job_request(options, "name"), InputError) << memory;
  }
  options.memory.clear();
  for (const char* other : {"--clusters=far", "--cluster=far", "-Mfar", "-M"}) {
    options.sbatch = {other};
    EXPECT_THROW(job_request(options, "name"), InputError) << other;
  }
  EXPECT_THROW(require_time({.name = "", .seconds = 10}, 1), InputError);
  EXPECT_NO_THROW(require_time({.name = "", .seconds = 60}, 1));
}

std::vector<SweepRow> rows_of(const std::string& text) {
  const std::string path = testing::TempDir() + "rows.csv";
  std::ofstream(path) << text;
  return read_sweep(path);
}

TEST(Sweep, TakesItsRowsFromATable) {
  const auto named = rows_of("name,parameters.k,checkpoints\na,1,\"{host: 1 MiB, schedule: revolve}\"\nb , 2 ,x\n");
  ASSERT_EQ(named.size(), 2U);
  EXPECT_EQ(named[0].set, (std::vector<std::string>{"parameters.k=1", "checkpoints={host: 1 MiB, schedule: revolve}"}));
  EXPECT_EQ(named[1].name, "b");
  EXPECT_EQ(named[1].set[0], "parameters.k=2");
  std::string ten = "k\n";
  for (int i = 0; i < 10; ++i) ten += "1\n";
  EXPECT_EQ(rows_of(ten)[1].name, "2");
}

TEST(Sweep, RefusesTablesByTheirLines) {
  for (const auto& [text, why] :
       std::vector<std::pair<std::string, std::string>>{{"name,k\na,1\na,2\n", "rows.csv:3: the name 'a' stands twice"},
                                                        {"name,k\n../x,1\n", "rows.csv:2: '../x' is no name"},
                                                        {"name,k\n,1\n", "rows.csv:2: '' is no name"},
                                                        {"k\n", "no rows"},
                                                        {"k,j\n1\n", "rows.csv:2: this row has 1 entries"}})
    try {
      rows_of(text);
      FAIL() << text;
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find(why), std::string::npos) << error.what();
    }
}

}  // namespace
}  // namespace hindsight
