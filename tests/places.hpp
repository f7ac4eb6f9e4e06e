// Where this checkout is, and the program that was built from it. The names of folders are compiled into one file.
#pragma once

namespace hindsight::test {

const char* source_folder();
const char* program_file();

}  // namespace hindsight::test
