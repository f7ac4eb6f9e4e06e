#include "src/cluster/sweep_script.hpp"

#include <fmt/format.h>

namespace hindsight {
namespace {

const char* const head = R"sh(
# A task of an array computes one row of a sweep: line $1 + $SLURM_ARRAY_TASK_ID + 1 of waiting.txt.
# hindsight sweep has written this file and sends it, or runs it here (--local).
)sh";

const char* const body = R"sh(
name=$(sed -n "$((${1:-0} + SLURM_ARRAY_TASK_ID + 1))p" "$folder/waiting.txt")
[ -n "$name" ] && cd "$folder/$name" || exit 6
job=${SLURM_JOB_ID:-0}
exec >> "job-$job.out" 2>&1
export SLURM_EXPORT_ENV=ALL
trap : TERM  # what is started here gets the signal too, and is waited for

chain=$(($(grep -sc ' begins: at most' jobs.log) + 1))
log() { echo "$(date -u +%FT%TZ) chain $chain $*" >> jobs.log; }

log "begins: at most 1 jobs on $SLURM_CLUSTER_NAME"
log "job $job begins on ${SLURMD_NODENAME:-$HOSTNAME} at epoch 0"
words=("$hindsight" resume "$folder/$name" --ranks "$ranks" --quiet)
[ "$limit" -eq 0 ] || words+=(--stop-after "$((limit - margin))s")
"${launch[@]}" "${words[@]}"
code=$?
log "job $job ends with code $code"
log "ends: code $code"
exit $code
)sh";

}  // namespace

std::string sweep_script(const JobRequest& request, const std::string& folder, const std::string& program) {
  // One rank needs no launcher, which would take longer than a small row.
  const std::string launch = request.ranks > 1 ? launch_words(request) : "";
  std::string text = "#!/bin/bash" + std::string(head) + directives(request);
  text += "#SBATCH --output=/dev/null\n#SBATCH --no-requeue\n\n";
  text += exports();
  text += "folder=" + quoted_word(folder) + "\nhindsight=" + quoted_word(program) + "\n";
  text += fmt::format("ranks={}\nlimit={:.0f}  # seconds; 0: none\n", request.ranks, request.seconds);
  text += fmt::format("margin=${{HINDSIGHT_MARGIN:-{}}}  # seconds in which MPI and SLURM end\n", margin);
  return text + "launch=(" + launch + ")\n" + body;
}

}  // namespace hindsight
