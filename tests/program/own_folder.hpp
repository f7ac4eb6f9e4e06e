// Tests that begin in a folder of their own.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

namespace hindsight::test {

/// An empty folder for each test, in which it begins.
class OwnFolder : public ::testing::Test {
 protected:
  OwnFolder() {
    const auto* const test = ::testing::UnitTest::GetInstance()->current_test_info();
    here_ = testing::TempDir() + test->test_suite_name() + "-" + test->name();
    std::filesystem::remove_all(here_);
    std::filesystem::create_directories(here_);
    std::filesystem::current_path(here_);
  }
  ~OwnFolder() override { std::filesystem::current_path("/"); }
  std::string here_;
};

}  // namespace hindsight::test
