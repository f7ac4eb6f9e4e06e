// Spelling help for error messages.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hindsight {

/// The known name closest to `name` by edit distance, or "" when none is near (more than a third of its letters
/// differ, or it is a single letter).
std::string nearest_name(std::string_view name, const std::vector<std::string>& known);

/// "; did you mean 'X'?" or "" — to be appended to a message about an unknown name.
std::string did_you_mean(std::string_view name, const std::vector<std::string>& known);

/// "a, b, c" in the order given.
std::string join(const std::vector<std::string>& names, std::string_view separator = ", ");
/// The same; of more than six the first two and the last three, "a, b, ... (40 more), x, y, z".
std::string join_few(std::vector<std::string> names);

}  // namespace hindsight
