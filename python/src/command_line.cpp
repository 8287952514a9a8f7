// The program `saltus`, for installations of the Python package alone.
#include <pybind11/stl.h>
#include <saltus/base/terminal.hpp>

#include <iostream>

#include "bindings.hpp"
#include "cli/commands.hpp"

namespace py = pybind11;

namespace saltus::python {

void add_command_line(py::module_& m) {
  m.def(
      "run_command_line",
      [](const std::vector<std::string>& arguments) {
        const py::gil_scoped_release release;
        const auto code = cli::run_app(cli::all_commands(), arguments,
                                       {.out = std::cout, .err = std::cerr, .terminal = output_is_terminal()});
        std::cout.flush();
        return static_cast<int>(code);
      },
      py::arg("arguments"), "Runs `saltus ARGUMENTS`; returns its exit code");
}

}  // namespace saltus::python
