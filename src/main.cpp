#include "src/program.hpp"

int main(int argc, char** argv) {
  return hindsight::run_program(argc, argv);
}
