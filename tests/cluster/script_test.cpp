// The rules of a chain's script, with commands in SLURM's place that fail and lie as asked.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "io/journal/process_identity.hpp"
#include "io/slurm/slurm.hpp"
#include "src/cluster/chain.hpp"
#include "src/cluster/job_script.hpp"
#include "tests/program/own_folder.hpp"
#include "tests/program/program.hpp"

namespace hindsight {
namespace {

namespace fs = std::filesystem;

using namespace test;

/// Commands in bin/, before all others. Jobs that wait stand in `pending`, with what squeue says of them; calls in
/// `calls`.
class Scripts : public OwnFolder {
 protected:
  Scripts() : path_(std::getenv("PATH")) {
    fs::create_directories("bin");
    write_command("squeue", R"(case "$*" in
  *%F*) cat queue 2> /dev/null || true ;;
  *PENDING*) cat pending 2> /dev/null ;;
  *%T*) cat state 2> /dev/null || { echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1; } ;;
  *%e*) cat end 2> /dev/null ;;
esac)");
    write_command("sbatch", R"(echo "sbatch $*" >> calls; echo "$SLURM_RESTART_COUNT" > sent-with
if [ -s failures ]; then sed -i 1d failures; echo 'sbatch: error: Unable to contact slurm controller' >&2; exit 1; fi
number=$((100 + $(grep -c ^sbatch calls)))
echo "$number|afterany:$SLURM_JOB_ID(unfulfilled)|$PWD/submit.sbatch 1" >> pending
echo $number)");
    write_command("scancel", R"(echo "scancel $*" >> calls; sed -i "/^$1|/d" pending)");
    write_command("scontrol", R"(echo 'MaxArraySize = 4'; echo 'ClusterName = here'; echo 'PrivateData = jobs,usage')");
    write_command("sinfo", ":");
    write_command("srun", ":");
    write_command("sleep", "exec /bin/sleep 0.05");
    write_command("hindsight", R"(echo "$*" > words; . ./resume)");
    setenv("PATH", (here_ + "/bin:" + path_).c_str(), 1);
    std::ofstream("submit.sbatch") << chain_script({.name = "chain", .seconds = 3600, .launcher = "env"}, here_,
                                                   here_ + "/bin/hindsight", most_jobs);
    JobLog::say(here_, 1, "begins: at most 3 jobs");
    JobLog::say(here_, 1, "job 100 queued");
  }
  ~Scripts() override { setenv("PATH", path_.c_str(), 1); }

  static void write_command(const std::string& name, const std::string& text) {
    const std::string file = "bin/" + name;
    std::ofstream(file) << "#!/bin/bash\n" << text << "\n";
    fs::permissions(file, fs::perms::owner_all);
  }
  /// @param resume what the run does, in the shell. @returns the job's exit code.
  static int job(int number, const std::string& resume, const std::string& chain = "1",
                 const std::string& variable = "RESTARTS=0") {
    std::ofstream("resume") << resume;
    return run_command("sed -i '/^" + std::to_string(number) + "|/d' pending 2> /dev/null; env SLURM_JOB_ID=" +
                       std::to_string(number) + " SLURM_JOB_NODELIST=n1 SLURM_CLUSTER_NAME=here " + variable +
                       " bash submit.sbatch " + chain + " >> output.txt 2>&1");
  }
  /// What a run does that has made epoch `n`, and ends with a code.
  static std::string epoch(int n, int code) {
    return "echo '{\"epoch\": " + std::to_string(n) + "}' > status.json; exit " + std::to_string(code);
  }
  Chain chain() const { return JobLog::of(here_).newest(); }
  static std::string pending() { return contents("pending"); }

  static constexpr int most_jobs = 3;

 private:
  std::string path_;
};

TEST_F(Scripts, JobsFollowOneAnotherUntilTheRunIsComplete) {
  EXPECT_EQ(job(100, epoch(1, 5)), 5);
  EXPECT_EQ(pending().substr(0, 4), "101|");
  EXPECT_EQ(chain().end, "");
  EXPECT_EQ(job(101, "exit 0"), 0);
  EXPECT_EQ(chain().end, "the run is complete");
  EXPECT_EQ(pending(), "");
  EXPECT_EQ(job(102, "touch ran"), 0);  // it was too late to cancel it
  EXPECT_FALSE(fs::exists("ran"));
}

TEST_F(Scripts, TheLastJobQueuesNone) {
  EXPECT_EQ(job(100, epoch(1, 5)), 5);
  EXPECT_EQ(job(101, epoch(2, 5)), 5);
  EXPECT_EQ(job(102, epoch(3, 5)), 5);
  EXPECT_EQ(pending(), "");
  EXPECT_EQ(chain().end, "this was the last of 3 jobs");
}

TEST_F(Scripts, TwoJobsWithoutAnEpochEndIt) {
  EXPECT_EQ(job(100, epoch(1, 5)), 5);
  EXPECT_EQ(job(101, "exit 5"), 5);
  EXPECT_EQ(chain().end, "");
  EXPECT_EQ(job(102, "exit 5"), 5);
  EXPECT_EQ(chain().end, "two jobs in a row made no epoch");
}

TEST_F(Scripts, JobsThatWereKilledCountToo) {
  for (const char* const line : {"job 100 begins on n1 at epoch 0", "job 101 begins on n1 at epoch 0"})
    JobLog::say(here_, 1, line);
  EXPECT_EQ(job(102, "touch ran"), 5);
  EXPECT_FALSE(fs::exists("ran"));
  EXPECT_EQ(chain().end, "two jobs in a row made no epoch");
}

TEST_F(Scripts, CodesThatComeAgainEndIt) {
  for (const int code : {2, 3, 4, 6}) {
    fs::remove("jobs.log");
    JobLog::say(here_, 1, "begins: at most 3 jobs");
    EXPECT_EQ(job(100, epoch(code, code)), code);
    EXPECT_EQ(chain().end, "exit code " + std::to_string(code) + ", see job-100.out");
    EXPECT_EQ(pending(), "");
  }
}

TEST_F(Scripts, ACrashIsGoneOnFrom) {
  EXPECT_EQ(job(100, epoch(1, 137)), 137);
  EXPECT_EQ(chain().end, "");
  EXPECT_NE(pending(), "");
}

TEST_F(Scripts, AControllerThatIsAwayIsAskedAgain) {
  std::ofstream("failures") << "1\n2\n";
  EXPECT_EQ(job(100, "/bin/sleep 1; " + epoch(1, 5)), 5);
  EXPECT_NE(pending(), "") << contents("output.txt");
  EXPECT_EQ(chain().end, "");
}

TEST_F(Scripts, AControllerThatStaysAwayEndsIt) {
  std::ofstream("failures") << std::string(200, '\n');
  EXPECT_EQ(job(100, epoch(1, 5)), 5);
  EXPECT_EQ(chain().end, "SLURM took no further job, see job-100.out");
}

TEST_F(Scripts, WhatIsCancelledStaysSo) {
  EXPECT_EQ(job(100, "echo 2026-11-23T16:00:00Z chain 1 ends: cancelled >> jobs.log; : > pending; exit 5"), 5);
  EXPECT_EQ(chain().end, "cancelled");
  EXPECT_EQ(pending(), "");
}

TEST_F(Scripts, AJobThatWasPutBackFindsItsSuccessor) {
  std::ofstream("pending") << "107|afterany:100(unfulfilled)|" + here_ + "/submit.sbatch\n";
  EXPECT_EQ(job(100, epoch(1, 5)), 5);
  EXPECT_EQ(contents("calls"), "");
}

TEST_F(Scripts, ARunLearnsThatItsJobWasPutBack) {
  EXPECT_EQ(job(100, "echo restart $SLURM_RESTART_COUNT > restart; exit 0", "1", "SLURM_RESTART_COUNT=2"), 0);
  EXPECT_EQ(contents("restart"), "restart 2\n");
  EXPECT_EQ(contents("sent-with"), "\n");  // its successor begins for the first time
}

TEST_F(Scripts, SentByHandOneThatWasPutBackGoesOn) {
  std::ofstream("state") << "RUNNING\n";
  fs::remove("jobs.log");
  EXPECT_EQ(job(100, epoch(1, 5), ""), 5);
  fs::remove("pending");
  EXPECT_EQ(job(100, "touch ran; exit 0", ""), 0);
  EXPECT_TRUE(fs::exists("ran")) << contents("output.txt");
}

TEST_F(Scripts, SentByHandOneBeginsAChainWhereNoneIsAtWork) {
  std::ofstream("state") << "RUNNING\n";
  EXPECT_EQ(job(200, "touch ran", ""), 6);
  EXPECT_FALSE(fs::exists("ran"));
  EXPECT_NE(contents("output.txt").find("job 100 computes this run already"), std::string::npos);
  fs::remove("state");
  EXPECT_EQ(job(200, "exit 0", ""), 0);
  EXPECT_EQ(chain().number, 2);
  EXPECT_EQ(chain().end, "the run is complete");
}

TEST_F(Scripts, StopsBeforeTheJobsEnd) {
  ASSERT_EQ(run_command("date -d '+40 seconds' +%FT%T > end"), 0);
  EXPECT_EQ(job(100, epoch(1, 5)), 5);
  const std::string words = contents("words"), option = "--stop-after ";
  const double seconds = std::stod(words.substr(words.find(option) + option.size()));
  EXPECT_GT(seconds, 20) << words;
  EXPECT_LE(seconds, 30) << words;
  ASSERT_EQ(run_command("date -d '+12 seconds' +%FT%T > end; rm words"), 0);
  EXPECT_EQ(job(101, epoch(2, 5)), 5);
  EXPECT_FALSE(fs::exists("words"));  // no time is left
}

TEST_F(Scripts, ASweepIsSplitWhereArraysMayBeNoLonger) {
  std::ofstream("decay.yaml") << "case: decay\nparameters: {k: 1}\nstate: {u: {initial: 1}}\n"
                                 "equations: {dt(u): -k*u}\ntime: {step: 0.1, to: 1}\nobjective: [{final: u}]\n";
  std::ofstream("rows.csv") << "parameters.k\n1\n2\n3\n4\n5\n6\n7\n";
  std::ofstream("state") << "COMPLETED|n1|N/A|None\n";
  ASSERT_EQ(run_command(command_line("sweep rows.csv decay.yaml --at-once 2 > output.txt 2>&1", 1)), 0)
      << contents("output.txt");
  const std::string calls = contents("calls"), script = here_ + "/runs/decay/rows/sweep.sbatch";
  EXPECT_NE(calls.find("--array=0-2%2 " + script + " 0\n"), std::string::npos) << calls;
  EXPECT_NE(calls.find("--array=0-2%2 --dependency=afterany:101 " + script + " 3\n"), std::string::npos);
  EXPECT_NE(calls.find("--array=0-0%2 --dependency=afterany:102 " + script + " 6\n"), std::string::npos);
}

TEST_F(Scripts, JobsAreKnownByTheirScript) {
  const std::string script = here_ + "/submit.sbatch";
  std::ofstream("queue") << "17|17|RUNNING|n1|N/A|None|/home|" << script << " 1\n18|18|PENDING||N/A|Dependency|/home|"
                         << script << "\n19|19|RUNNING|n1|N/A|None|" << here_
                         << "|submit.sbatch\n20|20|RUNNING|n1|N/A|None|" << here_
                         << "|other.sbatch\n21|21|RUNNING|n1|N/A|None|/home|submit.sbatch\n"
                         << "22|22|COMPLETED|n1|N/A|None|/home|" << script << " 1\n23|23|RUNNING|n1|N/A|None|/home|"
                         << script << ".old\n";
  const auto jobs = jobs_of(script);
  ASSERT_TRUE(jobs);
  std::vector<std::string> found;
  for (const QueuedJob& job : *jobs) found.push_back(job.id);
  EXPECT_EQ(found, (std::vector<std::string>{"17", "18", "19"}));
}

TEST_F(Scripts, JobsOfAnotherClusterAreLeftAlone) {
  JobLog::say(here_, 2, "begins: at most 3 jobs on far");
  EXPECT_EQ(view_queue(here_, JobLog::of(here_)).silence, "its jobs are on the cluster 'far', this is 'here'");
  JobLog::say(here_, 2, "ends: cancelled");
  EXPECT_TRUE(view_queue(here_, JobLog::of(here_)).has_answered());
}

TEST_F(Scripts, ARunIsSubmittedAgainAsItWasBefore) {
  std::ofstream("decay.yaml") << "case: decay\nparameters: {k: 1}\nstate: {u: {initial: 1}}\n"
                                 "equations: {dt(u): -k*u}\ntime: {step: 0.1, to: 1}\nobjective: [{final: u}]\n";
  const auto submit = [&](const std::string& words) {
    return run_command(command_line("submit " + words + " > output.txt 2>&1", 1));
  };
  ASSERT_EQ(submit("decay.yaml run --out sent --time 20min --account physics --launcher mpirun -- --qos=long"), 0)
      << contents("output.txt");
  const std::string before = contents("sent/submit.sbatch");
  EXPECT_NE(before.find("--account=physics\n#SBATCH --qos=long\n"), std::string::npos) << before;
  ASSERT_EQ(submit("sent"), 0) << contents("output.txt");
  EXPECT_EQ(contents("sent/submit.sbatch"), before);
  ASSERT_EQ(submit("sent --account arts"), 0) << contents("output.txt");
  EXPECT_NE(contents("sent/submit.sbatch").find("--account=arts\n#SBATCH --qos=long\n"), std::string::npos);
  EXPECT_EQ(submit("sent --overwrite"), 2);
  ASSERT_EQ(submit("decay.yaml run --out sent --overwrite"), 0) << contents("output.txt");  // nothing there is foreign
  std::ofstream("queue") << "17|17|PENDING||N/A|Priority|/home|" << here_ << "/sent/submit.sbatch 4\n";
  EXPECT_EQ(submit("sent"), 2);
  ASSERT_EQ(run_command(command_line("status sent > output.txt 2>&1", 1)), 0);
  EXPECT_NE(contents("output.txt").find("\nwaits for job 17\n"), std::string::npos) << contents("output.txt");
}

TEST_F(Scripts, AHiddenJobMayRun) {
  ProcessIdentity owner = this_process();
  owner.host = "another";
  owner.job = {"here", "17", 0, static_cast<std::int64_t>(geteuid())};
  EXPECT_EQ(liveness(owner), Liveness::given_up);  // SLURM has forgotten it
  ++owner.job->user;
  EXPECT_EQ(liveness(owner), Liveness::unknown);  // or does not show it
  std::ofstream("state") << "COMPLETED|n1|N/A|None\n";
  EXPECT_EQ(liveness(owner), Liveness::given_up);
}

}  // namespace
}  // namespace hindsight
