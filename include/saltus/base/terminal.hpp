// Whether a person reads what a program writes.
#pragma once

namespace saltus {

bool output_is_terminal();   ///< standard output
bool errors_are_terminal();  ///< standard error

}  // namespace saltus
