// The rooms of the house: who may know whom (docs/architecture.md).
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <regex>
#include <string>
#include <vector>

#include "tests/places.hpp"

namespace {

namespace fs = std::filesystem;

const std::vector<std::string> rooms = {"runtime", "solvers", "adjoint", "io", "src"};  // from the bottom to the top

struct Line {
  std::string file;  ///< from the root of the project
  int number = 0;
  std::string text;
};

void each_line(const std::function<void(const Line&)>& visit) {
  const fs::path root = hindsight::test::source_folder();
  for (const std::string& room : rooms)
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root / room)) {
      if (entry.path().extension() != ".cpp" && entry.path().extension() != ".hpp") continue;
      std::ifstream file(entry.path());
      Line line{fs::relative(entry.path(), root).string(), 0, ""};
      while (std::getline(file, line.text)) {
        ++line.number;
        visit(line);
      }
    }
}

bool begins_with_any(const std::string& file, const std::vector<std::string>& places) {
  return std::any_of(places.begin(), places.end(), [&](const std::string& place) { return file.starts_with(place); });
}

/// Lines in which a pattern is found, outside of some places and, where they are given, within others only.
std::string found(const std::string& pattern, const std::vector<std::string>& allowed,
                  const std::vector<std::string>& looked_at = {}) {
  const std::regex words(pattern);
  std::string all;
  each_line([&](const Line& line) {
    if (begins_with_any(line.file, allowed)) return;
    if (!looked_at.empty() && !begins_with_any(line.file, looked_at)) return;
    if (std::regex_search(line.text, words))
      all += line.file + ":" + std::to_string(line.number) + ": " + line.text + "\n";
  });
  return all;
}

TEST(Rooms, NoIncludeRunsUpwards) {
  const std::regex include("^#include \"([a-z]+)/");
  const auto height = [](const std::string& room) {
    return std::find(rooms.begin(), rooms.end(), room) - rooms.begin();
  };
  std::string upwards;
  int includes = 0;
  each_line([&](const Line& line) {
    std::smatch match;
    if (!std::regex_search(line.text, match, include)) return;
    ++includes;
    const std::string room = line.file.substr(0, line.file.find('/'));
    if (height(match[1]) > height(room)) upwards += line.file + ": " + line.text + "\n";
  });
  EXPECT_GT(includes, 500);
  EXPECT_EQ(upwards, "");
}

TEST(Rooms, AFamilyOfSteppersStandsInItsFolderAndTheRegistry) {
  const std::map<std::string, std::string> families = {
      {"solvers/steppers/explicit/", "\\bRungeKutta|steppers/explicit"},
      {"solvers/steppers/implicit/", "DiagonalRungeKutta|Rosenbrock|Bdf2|ImplicitStepper|steppers/implicit"}};
  for (const auto& [folder, family] : families) {
    EXPECT_NE(found(family, {}), "");
    EXPECT_EQ(found(family, {folder, "solvers/steppers/methods.cpp"}), "");
  }
}

TEST(Rooms, ABackendStandsInItsFolderAndTheRegistry) {
  EXPECT_EQ(found("[Cc][Uu][Dd][Aa]|NVRTC|nvrtc",
                  {"runtime/cuda/", "runtime/emulated/", "runtime/backends.cpp", "runtime/backends.hpp"}),
            "");
  EXPECT_EQ(found("emulated::|runtime/emulated|emulated device", {"runtime/emulated/", "runtime/backends.cpp"}), "");
  EXPECT_EQ(found("namespace host|host::backend|host/host_machine", {"runtime/"}), "");
}

TEST(Rooms, TheSweepTheProblemAndTheSteppersNameNoTier) {
  const std::string tier = "Tier::(device|host|disk)";
  EXPECT_NE(found(tier, {}), "");
  EXPECT_EQ(found(tier, {}, {"adjoint/sweep/", "adjoint/problem/", "solvers/"}), "");
}

TEST(Rooms, ACodecsNameStandsInItsFile) {
  const std::string folder = "adjoint/store/codecs/";
  for (const std::string name : {"lz4", "zstd", "quantised", "zfp"}) {
    const std::string word = "\\b" + name + "\\b";
    EXPECT_NE(found(word, {}), "") << name;
    EXPECT_EQ(found(word, {folder + name + ".cpp"}), "");
  }
  const std::string formats = "\"(float32|bfloat16)\"";  // elements of fields have such a name too
  EXPECT_NE(found(formats, {}), "");
  EXPECT_EQ(found(formats, {folder + "demotion.cpp", "runtime/element.hpp"}), "");
}

}  // namespace
