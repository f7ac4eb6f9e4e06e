#include "src/cluster/job_script.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "runtime/environment.hpp"
#include "runtime/nearest_name.hpp"

namespace hindsight {
namespace {

/// A percent sign stands for something in the names of files that SLURM writes.
std::string without_patterns(const std::string& path) {
  std::string text;
  for (const char c : path) text += c == '%' ? "%%" : std::string(1, c);
  return text;
}

const char* const head = R"sh(
# A job of the chain that computes a run. It queues its successor, goes on with the run, and stops before its time is up.
# hindsight submit has written this file and sends it; by hand: sbatch submit.sbatch. What happened is in jobs.log.
)sh";

const char* const body = R"sh(
cd "$run" || exit 6
trap : TERM  # what is started here gets the signal too, and is waited for
export SLURM_TIME_FORMAT=standard
export SLURM_EXPORT_ENV=ALL
me=$SLURM_JOB_ID

# A line of the log. All lines of this chain: what they say, from their third word on.
log() { echo "$(date -u +%FT%TZ) chain $chain $*" >> jobs.log; }
said() { grep -s "^[^ ]* chain $chain " jobs.log | cut -d' ' -f4-; }
has_ended() { said | grep -q '^ends:'; }

# The newest epoch of the run.
epoch() { grep -so '"epoch": [0-9]*' status.json | grep -o '[0-9]*$' || echo 0; }

# Of the chain's jobs: how many have begun, and at which epochs did the last two?
begun() {
  said | awk '$1 == "job" && $3 == "begins" && $2 != last {last = $2; before = latest; latest = $NF; n++}
              END {print n + 0, (n > 1 ? before : "none"), (n > 0 ? latest : "none")}'
}

# Two jobs in a row have made no epoch: a third would not either.
is_stuck() { [ "$(begun | cut -d' ' -f2-)" = "$(epoch) $(epoch)" ]; }

# The job that waits for this one; empty: there is none.
successor() {
  squeue -a -h -u "$(id -un)" -t PENDING -o '%i|%E|%o' |
    awk -F'|' -v after="afterany:$me(" -v script="$run/submit.sbatch" 'index($2, after) == 1 && index($3 " ", script " ") == 1 {print $1; exit}'
}

# One job more, which begins when this one has ended, however it ends. Until it is queued, SLURM puts this job back into
# the queue should its node fail; such a job may find that it had queued one.
queue_next() {
  local next
  next=$(successor)
  [ -n "$next" ] || next=$(env -u SLURM_RESTART_COUNT sbatch --parsable --dependency="afterany:$me" --export=ALL "$run/submit.sbatch" "$chain" | cut -d';' -f1)
  [ -n "$next" ] || return
  log "job $next queued"
  scontrol update JobId="$me" Requeue=0
}
may_queue_next() { [ "$(begun | cut -d' ' -f1)" -lt "$most_jobs" ]; }
has_queued() { said | awk -v me="$me" '$1 == "job" && $2 == me && $3 == "begins" {n = 0} $1 == "job" && $3 == "queued" && $2 != me {n = 1} END {exit !n}'; }

end_chain() {
  has_ended || log "ends: $*"
  next=$(successor)
  [ -z "$next" ] || scancel "$next"
}

# Seconds until this job's end, as SLURM sees it, else by its limit.
left() {
  local end
  end=$(squeue -a -h -j "$me" -o %e)
  case $end in
    [0-9]*) echo $(($(date -d "$end" +%s) - $(date +%s))) ;;
    *) echo $((limit - SECONDS)) ;;
  esac
}

# Which chain is it? A job that was sent by hand, without a number, begins one, unless one is at work; put back into the
# queue it finds itself in its chain.
chain=$1
begin_chain() {
  for job in $(has_ended || said | awk '$1 == "job" {print $2}' | sort -u); do
    case $(squeue -a -h -j "$job" -o %T 2> /dev/null) in
      '' | COMPLETED | CANCELLED | FAILED | TIMEOUT | NODE_FAIL | PREEMPTED | OUT_OF_MEMORY) ;;
      *) echo "job $job computes this run already: nothing is done here" >&2; exit 6 ;;
    esac
  done
  chain=$((${chain:-0} + 1))
  log "begins: at most $most_jobs jobs on $SLURM_CLUSTER_NAME"
}
if [ -z "$chain" ]; then
  chain=$(grep -s ' begins: at most' jobs.log | tail -n 1 | cut -d' ' -f3)
  said | grep -q "^job $me " && ! has_ended || begin_chain
fi
! has_ended || exit 0  # hindsight cancel was faster
if is_stuck; then
  end_chain "two jobs in a row made no epoch"
  exit 5
fi
log "job $me begins on $SLURM_JOB_NODELIST at epoch $(epoch)"
if may_queue_next && ! queue_next; then
  (while sleep 10; do ! queue_next || break; done) &  # the controller may come back
  queueing=$!
fi

seconds=$(($(left) - margin))
code=5
if [ $seconds -gt 5 ]; then
  "${launch[@]}" "$hindsight" resume "$run" --ranks "$ranks" --quiet --stop-after "${seconds}s"
  code=$?
  # So slow a start that no time was left is no fault of the run.
  [ $code -ne 6 ] || [ $SECONDS -lt $seconds ] || code=5
fi
[ -z "$queueing" ] || kill "$queueing" 2> /dev/null

[ $code -eq 0 ] && log "job $me ends with code 0" || log "job $me ends with code $code at epoch $(epoch)"
if has_ended; then exit $code; fi  # hindsight cancel
case $code in
  0) end_chain "the run is complete" ;;
  2 | 3 | 4 | 6) end_chain "exit code $code, see job-$me.out" ;;
  *)
    if is_stuck; then
      end_chain "two jobs in a row made no epoch"
    elif ! may_queue_next; then
      end_chain "this was the last of $most_jobs jobs"
    elif ! has_queued && ! queue_next; then
      end_chain "SLURM took no further job, see job-$me.out"
    fi ;;
esac
exit $code
)sh";

}  // namespace

std::string limit_text(double seconds) {
  const auto whole = static_cast<std::int64_t>(seconds);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

std::string quoted_word(const std::string& word) {
  const auto is_plain = [](unsigned char c) {
    return std::isalnum(c) != 0 || std::string("_-./=:,+@%^").find(static_cast<char>(c)) != std::string::npos;
  };
  if (!word.empty() && std::all_of(word.begin(), word.end(), is_plain)) return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? "'\\''" : std::string(1, c);
  return text + "'";
}

std::string directives(const JobRequest& request) {
  std::string text;
  const auto add = [&](const std::string& option) { text += "#SBATCH " + option + "\n"; };
  add(quoted_word("--job-name=" + request.name));
  add(fmt::format("--ntasks={}", request.ranks));
  if (request.nodes > 0) add(fmt::format("--nodes={}", request.nodes));
  if (request.seconds > 0) add("--time=" + limit_text(request.seconds));
  if (!request.account.empty()) add(quoted_word("--account=" + request.account));
  if (!request.partition.empty()) add(quoted_word("--partition=" + request.partition));
  if (request.memory > 0) add(fmt::format("--mem={}M", request.memory >> 20));
  for (std::size_t i = 0; i < request.sbatch.size(); ++i) {
    std::string option = quoted_word(request.sbatch[i]);
    while (i + 1 < request.sbatch.size() && !request.sbatch[i + 1].starts_with('-'))  // its value
      option += " " + quoted_word(request.sbatch[++i]);
    add(option);
  }
  return text;
}

std::string launch_words(const JobRequest& request) {
  if (request.launcher == "srun") return "srun --mpi=pmix --kill-on-bad-exit=1";
  if (request.launcher == "mpirun")
    return fmt::format("mpirun --mca odls_base_sigkill_timeout 60 -n {}", request.ranks);
  return request.launcher;
}

std::vector<std::string> hidden_variables(const JobRequest& request) {
  std::vector<std::string> names = {"SBATCH_JOB_NAME", "SBATCH_OPEN_MODE",  "SBATCH_OUTPUT",   "SBATCH_ERROR",
                                    "SBATCH_REQUEUE",  "SBATCH_NO_REQUEUE", "SBATCH_ARRAY_INX"};
  if (!request.account.empty()) names.push_back("SBATCH_ACCOUNT");
  if (!request.partition.empty()) names.push_back("SBATCH_PARTITION");
  if (request.seconds > 0) names.push_back("SBATCH_TIMELIMIT");
  if (request.memory > 0) names.push_back("SBATCH_MEM_PER_NODE");
  return names;
}

std::string exports() {
  std::string text;
  for (const char* name : {"HINDSIGHT_MARCH", "HINDSIGHT_CC", "HINDSIGHT_CACHE", "PETSC_OPTIONS", "LD_LIBRARY_PATH"})
    if (const std::string value = environment(name); !value.empty())
      text += std::string("export ") + name + "=" + quoted_word(value) + "\n";
  return text;
}

std::string chain_script(const JobRequest& request, const std::string& run, const std::string& program, int most_jobs) {
  std::string text = "#!/bin/bash" + std::string(head) + directives(request);
  text += "#SBATCH " + quoted_word("--output=" + without_patterns(run) + "/job-%j.out") + "\n";
  text += "#SBATCH --open-mode=append\n#SBATCH --requeue\n\n";
  text += exports() + "unset " + join(hidden_variables(request), " ") + "\n";
  text += "run=" + quoted_word(run) + "\nhindsight=" + quoted_word(program) + "\n";
  text += fmt::format("ranks={}\nmost_jobs={}\n", request.ranks, most_jobs);
  text += fmt::format("limit={:.0f}  # seconds\n", request.seconds > 0 ? request.seconds : 1e9);
  text += fmt::format("margin=${{HINDSIGHT_MARGIN:-{}}}  # seconds in which MPI and SLURM end\n", margin);
  return text + "launch=(" + launch_words(request) + ")\n" + body;
}

}  // namespace hindsight
