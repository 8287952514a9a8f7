// Numbers from text, on every system and in every locale.
#pragma once

#include <string_view>
#include <system_error>

namespace saltus {

/// Sets `value` to the number that is the whole text, correctly rounded: what std::from_chars reads, which some
/// standard libraries lack for double. std::errc() on success; invalid_argument if the text is not a number;
/// result_out_of_range, with `value` unchanged, beyond the largest number or below half of the smallest.
std::errc number_from(std::string_view text, double& value);

/// number_from by std::strtod, for libraries without std::from_chars.
std::errc number_by_strtod(std::string_view text, double& value);

}  // namespace saltus
