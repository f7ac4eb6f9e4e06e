// What bounds the host memory, read from trees of /proc and of cgroups that are made up here.
#include "runtime/host_memory.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>

namespace hindsight {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t mebibyte = std::int64_t{1} << 20;

class HostMemory : public ::testing::Test {
 protected:
  HostMemory() {
    here_ = testing::TempDir() + "memory-" + ::testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(here_);
    write("proc/meminfo", "MemTotal:       65536000 kB\nMemFree:  1 kB\nMemAvailable:   16384000 kB\n");
  }
  void write(const std::string& file, const std::string& text) const {
    fs::create_directories(fs::path(here_ + "/" + file).parent_path());
    std::ofstream(here_ + "/" + file) << text;
  }
  /// Lines of /proc/self/mountinfo; the folders are in this test's.
  void mount(const std::string& root, const std::string& folder, const std::string& type_and_options) {
    mountinfo_ += "31 23 0:28 " + root + " " + here_ + "/" + folder + " rw,relatime shared:9 - " + type_and_options;
    mountinfo_ += "\n";
    write("proc/self/mountinfo", "22 1 8:1 / / rw - ext4 /dev/root rw\n" + mountinfo_);
  }
  void second(const std::string& cgroup, const std::string& most, std::int64_t used, std::int64_t inactive = 0) const {
    write(cgroup + "/memory.max", most + "\n");
    write(cgroup + "/memory.current", std::to_string(used) + "\n");
    write(cgroup + "/memory.stat", "anon 5\ninactive_anon 7\ninactive_file " + std::to_string(inactive) + "\n");
  }
  void first(const std::string& cgroup, const std::string& most, std::int64_t used, std::int64_t inactive = 0) const {
    write(cgroup + "/memory.limit_in_bytes", most + "\n");
    write(cgroup + "/memory.usage_in_bytes", std::to_string(used) + "\n");
    write(cgroup + "/memory.stat", "inactive_file 3\ntotal_inactive_file " + std::to_string(inactive) + "\n");
  }
  MemoryRoom room(int ranks = 1) const {
    return memory_room({here_ + "/proc",
                        [this](const char* name) {
                          const auto found = variables_.find(name);
                          return found == variables_.end() ? std::string() : found->second;
                        },
                        ranks});
  }
  void expect(std::int64_t bytes, const std::string& source, int ranks = 1) const {
    EXPECT_EQ(room(ranks).bytes, bytes);
    EXPECT_EQ(room(ranks).source, source);
  }
  std::string limit_of(const std::string& cgroup) const {
    return "left under the cgroup limit " + here_ + "/" + cgroup;
  }

  std::string here_, mountinfo_;
  std::map<std::string, std::string> variables_;
};

TEST_F(HostMemory, WithoutLimitsWhatIsAvailable) {
  expect(16000 * mebibyte, "available");
}

TEST_F(HostMemory, OfAnUnknownSystemIsAssumed) {
  fs::remove_all(here_ + "/proc");
  EXPECT_EQ(room().bytes, 2048 * mebibyte);
}

TEST_F(HostMemory, SecondVersion) {
  mount("/", "cgroup", "cgroup2 cgroup2 rw,nsdelegate");
  write("proc/self/cgroup", "0::/user.slice/job/task\n");
  second("cgroup/user.slice/job/task", "max", 100 * mebibyte);
  second("cgroup/user.slice/job", "419430400", 150 * mebibyte, 60 * mebibyte);
  second("cgroup/user.slice", "max", 150 * mebibyte);
  expect(310 * mebibyte, limit_of("cgroup/user.slice/job"));
  second("cgroup/user.slice/job/task", std::to_string(200 * mebibyte), 100 * mebibyte);
  expect(100 * mebibyte, limit_of("cgroup/user.slice/job/task"));
  second("cgroup/user.slice", std::to_string(150 * mebibyte), 150 * mebibyte);
  expect(0, limit_of("cgroup/user.slice"));
  second("cgroup/user.slice", std::to_string(150 * mebibyte), 190 * mebibyte);
  expect(0, limit_of("cgroup/user.slice"));
}

TEST_F(HostMemory, WhereTheKernelSlowsDownBoundsToo) {
  mount("/", "cgroup", "cgroup2 cgroup2 rw");
  write("proc/self/cgroup", "0::/job\n");
  second("cgroup/job", "max", 10 * mebibyte);
  write("cgroup/job/memory.high", std::to_string(90 * mebibyte));
  expect(80 * mebibyte, limit_of("cgroup/job"));
  write("cgroup/job/memory.high", "max");
  expect(16000 * mebibyte, "available");
}

TEST_F(HostMemory, FirstVersion) {
  mount("/", "cgroup/memory", "cgroup cgroup rw,memory");
  mount("/", "cgroup/cpu", "cgroup cgroup rw,cpu,cpuacct");
  write("proc/self/cgroup", "5:cpu,cpuacct:/elsewhere\n4:memory:/slurm/job_7/step_0\n");
  first("cgroup/memory/slurm/job_7/step_0", "9223372036854771712", 1);
  first("cgroup/memory/slurm/job_7", std::to_string(500 * mebibyte), 120 * mebibyte, 20 * mebibyte);
  first("cgroup/memory", "9223372036854771712", 1);
  first("cgroup/cpu/slurm/job_7", "1", 1);
  first("cgroup/memory/elsewhere", "1", 1);
  expect(400 * mebibyte, limit_of("cgroup/memory/slurm/job_7"));
  write("cgroup/memory/slurm/job_7/memory.use_hierarchy", "0\n");  // then it does not bound what is below it
  expect(16000 * mebibyte, "available");
}

TEST_F(HostMemory, BothVersionsSideBySide) {
  mount("/", "cgroup/unified", "cgroup2 cgroup2 rw");
  mount("/", "cgroup/memory", "cgroup cgroup rw,memory");
  write("proc/self/cgroup", "4:memory:/a\n1:name=systemd:/b\n0::/c\n");
  first("cgroup/memory/a", std::to_string(300 * mebibyte), 0);
  write("cgroup/unified/c/cgroup.procs", "1\n");  // the controller of memory is the first version's
  expect(300 * mebibyte, limit_of("cgroup/memory/a"));
}

/// The mount shows the container's cgroup alone, with or without a namespace of cgroups.
TEST_F(HostMemory, OfAContainer) {
  mount("/docker/7f", "cgroup", "cgroup2 cgroup2 rw");
  second("cgroup", std::to_string(256 * mebibyte), 56 * mebibyte);
  for (const std::string own : {"/docker/7f", "/", "/docker/7f1", "/../7f"}) {
    write("proc/self/cgroup", "0::" + own + "\n");
    expect(200 * mebibyte, limit_of("cgroup"));
  }
  write("proc/self/cgroup", "0::/docker/7f/inner\n");
  second("cgroup/inner", std::to_string(128 * mebibyte), 0);
  expect(128 * mebibyte, limit_of("cgroup/inner"));
}

TEST_F(HostMemory, WhatIsAbsentOrUnreadableBoundsNothing) {
  mount("/", "cgroup", "cgroup2 cgroup2 rw");
  write("proc/self/cgroup", "0::/gone/away\n");
  write("cgroup/memory.max", "many\n");
  expect(16000 * mebibyte, "available");
  write("proc/self/mountinfo", "nonsense\n1 2 3 - \n- - - -\n");
  expect(16000 * mebibyte, "available");
  write("proc/self/cgroup", "nonsense\n:\n");
  expect(16000 * mebibyte, "available");
}

TEST_F(HostMemory, WhatSlurmGranted) {
  for (const auto& [said, bytes] : {std::pair("4000", 4000 * mebibyte),
                                    {"4G", 4096 * mebibyte},
                                    {"512K", mebibyte / 2},
                                    {"700M", 700 * mebibyte}}) {
    variables_ = {{"SLURM_MEM_PER_NODE", said}};
    expect(bytes, "that SLURM_MEM_PER_NODE grants");
  }
  for (const std::string said : {"0", "", "-5", "all", "4GB", "1T", "99999999999999999999"}) {  // of more than there is
    variables_ = {{"SLURM_MEM_PER_NODE", said}};
    expect(16000 * mebibyte, "available");
  }
  variables_ = {{"SLURM_MEM_PER_CPU", "500"}, {"SLURM_CPUS_ON_NODE", "4"}, {"SLURM_CPUS_PER_TASK", "2"}};
  expect(2000 * mebibyte, "that SLURM_MEM_PER_CPU grants 4 CPUs");
  variables_.erase("SLURM_CPUS_ON_NODE");
  expect(3000 * mebibyte, "that SLURM_MEM_PER_CPU grants 6 CPUs", 3);
  variables_.erase("SLURM_CPUS_PER_TASK");
  expect(1500 * mebibyte, "that SLURM_MEM_PER_CPU grants 3 CPUs", 3);
}

}  // namespace
}  // namespace hindsight
