// Texts of relations.
#pragma once

#include <string>

namespace saltus {

/// "a >= b" of "a < b"; "" where there is no relation outside of parentheses.
std::string opposite_relation(const std::string& relation);

}  // namespace saltus
