// C source calls the functions of the C library. To compare bits, a compiled source gets the functions of Saltus
// instead.
#pragma once

#include <dlfcn.h>
#include <saltus/expr/operators.hpp>

#include <string>

namespace saltus::test {

/// Stands in front of the source: every elementary function becomes a call through a pointer.
inline std::string redirect_functions() {
  std::string text = "#include <math.h>\n";
  for (const Operator& row : operators) {
    if (row.kind != OpKind::function || row.op == Op::sqrt) continue;
    const std::string name(row.name);
    text += "double (*saltus_" + name + ")(" + (row.operands == 2 ? "double, double" : "double") + ");\n";
    text += "#define " + name + " saltus_" + name + "\n";
  }
  return text;
}

/// Sets the pointers of a library that was made from such a source. False if one is missing.
inline bool give_functions(void* library) {
  for (const Operator& row : operators) {
    if (row.kind != OpKind::function || row.op == Op::sqrt) continue;
    void* const pointer = dlsym(library, ("saltus_" + std::string(row.name)).c_str());
    if (pointer == nullptr) return false;
    if (row.operands == 2)
      *static_cast<Operator::Binary*>(pointer) = row.binary;
    else
      *static_cast<Operator::Unary*>(pointer) = row.unary;
  }
  return true;
}

}  // namespace saltus::test
