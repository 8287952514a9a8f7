// Everything a user of the library needs.
#pragma once

#include <saltus/base/error.hpp>
#include <saltus/base/status.hpp>
#include <saltus/base/version.hpp>
#include <saltus/expr/derivative.hpp>
#include <saltus/expr/expr.hpp>
#include <saltus/expr/print.hpp>
#include <saltus/hybrid/input_signal.hpp>
#include <saltus/hybrid/kept_size.hpp>
#include <saltus/hybrid/mode_graph.hpp>
#include <saltus/hybrid/simulate.hpp>
#include <saltus/hybrid/simulator.hpp>
#include <saltus/hybrid/trajectory.hpp>
#include <saltus/model/compile.hpp>
#include <saltus/model/compiled_model.hpp>
#include <saltus/model/homotopy.hpp>
#include <saltus/model/linear_equations.hpp>
#include <saltus/model/model.hpp>
#include <saltus/model/record.hpp>
#include <saltus/model/text.hpp>
#include <saltus/program/function.hpp>
#include <saltus/program/program.hpp>
