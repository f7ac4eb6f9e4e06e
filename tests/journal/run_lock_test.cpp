// ranks: 1 3
// A run folder belongs to one run at a time; whoever died gives it back.
#include "io/journal/run_lock.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <thread>

#include "runtime/error.hpp"
#include "tests/support.hpp"

namespace hindsight {
namespace {

std::string scratch() {
  return testing::TempDir() + "lock-" + std::to_string(getpid());  // of this rank
}

/// A process that does some work and then waits until it is told to end.
class Child {
 public:
  /// @param work gives one letter to say. The process ends when `work` throws or when it is told to.
  explicit Child(const std::function<char()>& work) {
    int to_child[2], to_parent[2];
    if (pipe(to_child) != 0 || pipe(to_parent) != 0) throw std::runtime_error("no pipe");
    process_ = fork();
    if (process_ == 0) {
      close(to_child[1]);
      close(to_parent[0]);
      wait_for_a_letter(to_child[0]);  // to begin
      run(work, to_child[0], to_parent[1]);
    }
    close(to_child[0]);
    close(to_parent[1]);
    to_child_ = to_child[1];
    from_child_ = to_parent[0];
  }
  ~Child() {
    close(to_child_);
    close(from_child_);
    waitpid(process_, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  pid_t process() const { return process_; }
  void begin() const { [[maybe_unused]] const ssize_t n = write(to_child_, "b", 1); }
  /// Its work is over, or it died.
  bool has_said_something() const {
    pollfd pipe{from_child_, POLLIN, 0};
    return poll(&pipe, 1, 0) != 0;
  }
  /// What it said; 0 when it died.
  char answer() const { return wait_for_a_letter(from_child_); }
  void kill() const {
    ::kill(process_, SIGKILL);
    siginfo_t state;
    waitid(P_PID, static_cast<id_t>(process_), &state, WEXITED | WNOWAIT);  // dead, and not yet buried
  }

 private:
  static char wait_for_a_letter(int pipe) {
    char letter = 0;
    return read(pipe, &letter, 1) == 1 ? letter : '\0';
  }
  [[noreturn]] static void run(const std::function<char()>& work, int from_parent, int to_parent) {
    const auto say = [&](char letter) { [[maybe_unused]] const ssize_t n = write(to_parent, &letter, 1); };
    try {
      say(work());
    } catch (const std::exception&) {
      say('x');
    }
    wait_for_a_letter(from_parent);
    _exit(0);
  }

  pid_t process_ = 0;
  int to_child_ = -1, from_child_ = -1;
};

/// A child that takes the folder's lock ('l') or is refused ('x'), and never gives it back by itself.
std::function<char()> locker(const std::string& folder) {
  return [folder] {
    new FolderLock(folder);  // not released, as if it were at work
    return 'l';
  };
}

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::string problem_with(const std::string& folder) {
  try {
    const FolderLock lock(folder);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::resource);
    return error.what();
  }
  return "";
}

class FolderLocks : public testing::Test {
 protected:
  FolderLocks() { std::filesystem::create_directories(folder_); }
  ~FolderLocks() override { std::filesystem::remove_all(folder_); }
  bool is_empty() const { return std::filesystem::is_empty(folder_); }
  void set(const ProcessIdentity& owner) const { std::ofstream(FolderLock::file(folder_)) << to_text(owner); }
  std::string folder_ = scratch();
};

TEST_F(FolderLocks, AreGivenBack) {
  {
    const FolderLock lock(folder_);
    EXPECT_EQ(parse_identity(text_of(FolderLock::file(folder_)))->process, getpid());
  }
  EXPECT_TRUE(is_empty());
  EXPECT_EQ(problem_with(folder_), "");
}

TEST_F(FolderLocks, ASecondOwnerIsToldTheFirst) {
  const Child child(locker(folder_));
  child.begin();
  ASSERT_EQ(child.answer(), 'l');
  const std::string problem = problem_with(folder_);
  EXPECT_NE(problem.find("process " + std::to_string(child.process()) + " on host " + this_process().host + " since 2"),
            std::string::npos)
      << problem;
  EXPECT_NE(problem_with(folder_).find("in use"), std::string::npos);  // and being refused changes nothing
  child.kill();
}

TEST_F(FolderLocks, TheSameProcessIsRefusedToo) {
  const FolderLock lock(folder_);
  EXPECT_NE(problem_with(folder_).find("in use by process " + std::to_string(getpid())), std::string::npos);
  EXPECT_FALSE(is_empty());
}

TEST_F(FolderLocks, ThatOfAKilledOwnerIsReplaced) {
  const Child child(locker(folder_));
  child.begin();
  ASSERT_EQ(child.answer(), 'l');
  child.kill();
  EXPECT_EQ(problem_with(folder_), "");
  EXPECT_TRUE(is_empty());
}

TEST_F(FolderLocks, ThatOfAnEarlierProcessWithTheSameNumberIsReplaced) {
  ProcessIdentity owner = this_process();
  owner.started = "1";
  set(owner);
  EXPECT_EQ(problem_with(folder_), "");
}

TEST_F(FolderLocks, ThatOfAnEarlierBootIsReplaced) {
  ProcessIdentity owner = this_process();
  owner.boot = "00000000-0000-0000-0000-000000000000";
  set(owner);
  EXPECT_EQ(problem_with(folder_), "");
}

TEST_F(FolderLocks, ThoseOfOtherHostsAndContainersAreRespectedAndNamed) {
  ProcessIdentity owner = this_process();
  owner.host = "elsewhere";
  owner.process = 4711;
  set(owner);
  EXPECT_EQ(problem_with(folder_), "the run folder '" + folder_ +
                                       "' is in use by process 4711 on host elsewhere since " + owner.date +
                                       "; whether it still runs cannot be seen from here: if it does not, "
                                       "say --take-lock");
  owner = this_process();
  owner.process = 1 << 30;  // would be dead here
  owner.space = "pid:[1]";
  set(owner);
  EXPECT_NE(problem_with(folder_).find("cannot be seen from here"), std::string::npos);
  EXPECT_EQ(text_of(FolderLock::file(folder_)), to_text(owner));
}

TEST_F(FolderLocks, OneThatCannotBeReadIsRespected) {
  for (const std::string& text :
       {std::string(), std::string("host a\nprocess x\n"), to_text(this_process()).substr(0, 40)}) {
    std::ofstream(FolderLock::file(folder_)) << text;
    EXPECT_NE(problem_with(folder_).find("cannot be read; if no run uses the folder"), std::string::npos);
  }
}

TEST_F(FolderLocks, AForkedChildGivesNothingBack) {
  const FolderLock* lock = new FolderLock(folder_);
  const Child child([&] {
    delete lock;
    return 'd';
  });
  child.begin();
  EXPECT_EQ(child.answer(), 'd');
  EXPECT_FALSE(is_empty());
  delete lock;
  EXPECT_TRUE(is_empty());
}

/// What an owner is told who wants a grip on the lock.
std::string problem_of(const FolderLock& lock) {
  try {
    lock.grip();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::resource);
    return error.what();
  }
  return "";
}

TEST_F(FolderLocks, AnOwnerWhoCannotBeSeenIsTakenFromAndToldByWhomAndWhen) {
  ProcessIdentity owner = this_process();
  owner.space = "pid:[1]";
  set(owner);
  EXPECT_NE(problem_with(folder_), "");
  const FolderLock lock(folder_, true);
  EXPECT_EQ(parse_identity(text_of(FolderLock::file(folder_)))->process, getpid());
  EXPECT_EQ(problem_of(lock), "");
  ProcessIdentity taker = this_process();
  taker.process = 4711;
  set(taker);
  EXPECT_EQ(problem_of(lock), "the run folder '" + folder_ + "' was taken by process 4711 on host " + taker.host +
                                  " at " + taker.date + ", which goes on with the run; this process ends");
  std::filesystem::remove(FolderLock::file(folder_));
  EXPECT_NE(problem_of(lock).find("is gone: a process that took it has ended, or it was removed"), std::string::npos);
}

TEST_F(FolderLocks, AnOwnerLeavesTheLockOfWhoTookIt) {
  ProcessIdentity taker = this_process();
  taker.host = "elsewhere";
  {
    const FolderLock lock(folder_);
    std::filesystem::remove(FolderLock::file(folder_));
    set(taker);
  }
  EXPECT_EQ(text_of(FolderLock::file(folder_)), to_text(taker));
}

TEST_F(FolderLocks, AnOwnerWhoIsSeenToLiveIsNotTakenFrom) {
  const Child child(locker(folder_));
  child.begin();
  ASSERT_EQ(child.answer(), 'l');
  EXPECT_THROW(FolderLock(folder_, true), ResourceError);
  child.kill();
}

/// An owner of another name space, as far as its lock says, which has a grip on it for so long.
std::function<char()> gripper(const std::string& folder, std::chrono::milliseconds time) {
  return [=] {
    const FolderLock* const lock = new FolderLock(folder);  // not released
    const auto grip = lock->grip();
    ProcessIdentity hidden = this_process();
    hidden.space = "pid:[1]";
    std::ofstream(FolderLock::file(folder)) << to_text(hidden);  // into the same file
    std::ofstream(folder + "/ready") << "yes";
    std::this_thread::sleep_for(time);
    return 'g';
  };
}

TEST_F(FolderLocks, WhoTakesWaitsForAGrip) {
  const Child child(gripper(folder_, std::chrono::milliseconds(1500)));
  child.begin();
  while (!std::filesystem::exists(folder_ + "/ready") && !child.has_said_something())
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  ASSERT_TRUE(std::filesystem::exists(folder_ + "/ready"));
  try {
    const FolderLock taker(folder_, true, FolderLock::Seconds(0.1));
    ADD_FAILURE() << "taken";
  } catch (const ResourceError& error) {
    EXPECT_NE(std::string(error.what())
                  .find("cannot be taken: process " + std::to_string(child.process()) + " on host " +
                        this_process().host + " lives, for it writes there"),
              std::string::npos)
        << error.what();
  }
  EXPECT_NO_THROW(FolderLock(folder_, true));
  EXPECT_EQ(child.answer(), 'g');
  child.kill();
}

/// @returns how many of the processes got the lock.
int race(const std::string& folder) {
  const Child first(locker(folder)), second(locker(folder)), third(locker(folder));
  for (const Child* child : {&first, &second, &third}) child->begin();
  int winners = 0;
  for (const Child* child : {&first, &second, &third}) winners += child->answer() == 'l' ? 1 : 0;
  return winners;
}

TEST_F(FolderLocks, OfRacingProcessesExactlyOneWins) {
  if (test::world().rank() != 0) return;
  for (int trial = 0; trial < 200; ++trial) {
    std::filesystem::remove(FolderLock::file(folder_));
    ASSERT_EQ(race(folder_), 1) << trial;
  }
}

TEST_F(FolderLocks, OfRacingProcessesExactlyOneReplacesADeadOwner) {
  if (test::world().rank() != 0) return;
  ASSERT_EQ(race(folder_), 1);
  for (int trial = 0; trial < 200; ++trial) ASSERT_EQ(race(folder_), 1) << trial;  // each leaves a dead winner's lock
}

TEST(RunLocks, AreFoundTakenByAllRanks) {
  const Communicator world = test::world();
  const std::string folder = world.broadcast(scratch()) + "/taken";
  {
    const RunLock lock(folder, world);
    int worked = 0;
    const auto work = [&] { lock.hold([&] { ++worked; }); };
    lock.hold(work);
    EXPECT_EQ(worked, 1);
    EXPECT_FALSE(lock.is_lost());
    world.on_root([&] {
      std::filesystem::remove(FolderLock::file(folder));
      std::ofstream(FolderLock::file(folder)) << "somebody's";
    });
    EXPECT_THROW(work(), ResourceError);
    EXPECT_TRUE(lock.is_lost());
    EXPECT_EQ(worked, 1);
  }
  world.on_root([&] {
    EXPECT_EQ(text_of(FolderLock::file(folder)), "somebody's");
    std::filesystem::remove_all(scratch());
  });
}

TEST(RunLocks, LeaveNoFolderInWhichNothingIs) {
  const Communicator world = test::world();
  const std::string above = world.broadcast(scratch()) + "-gone";
  { const RunLock lock(above + "/new/run", world); }
  world.any(false);
  EXPECT_FALSE(std::filesystem::exists(above));
}

TEST(RunLocks, AreHeldForAllRanks) {
  const Communicator world = test::world();
  const std::string folder = world.broadcast(scratch()) + "/new/run";
  const auto problem = [&]() -> std::string {
    try {
      const RunLock lock(folder, world);
    } catch (const ResourceError& error) {
      return error.what();
    }
    return "";
  };
  {
    const RunLock lock(folder, world);
    const std::string text = problem();
    EXPECT_NE(text.find("in use by process "), std::string::npos) << text;
    EXPECT_EQ(text, world.broadcast(text));
  }
  EXPECT_EQ(problem(), "");
  world.on_root([&] { std::filesystem::remove_all(scratch()); });
}

}  // namespace
}  // namespace hindsight
