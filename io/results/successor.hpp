// A run in a folder that holds results: it works in a folder within, and its files take the places of the others when
// they are complete.
//
//   FOLDER/successor            where it works; its result.json or check.json, the last to appear, says it is complete
//   FOLDER/successor-complete   the same folder while its files are put in place: what was there before is gone
#pragma once

#include <string>
#include <vector>

#include "io/files/file_system.hpp"

namespace hindsight {

inline const std::string successor_name = "successor", whole_successor_name = "successor-complete";

/// Puts the files of a complete successor in place of those of the earlier run, which are removed: first what says that
/// it is complete, so that its files and those of the successor never pass for one run's; what says so of the successor
/// comes last. Goes on where a process was killed in it. @param earlier names of the earlier run's files, those that
/// tell whose they are last; files of others are replaced only by those of the same name. @throws ResourceError
void put_in_place(FileSystem& files, const std::string& folder, const std::vector<std::string>& earlier);

}  // namespace hindsight
