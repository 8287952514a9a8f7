// The interpreter lock, interrupts and functions of Python.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <utility>

namespace saltus::python {

/// Calls a function without the interpreter lock, so that other threads of Python go on. Throws what it throws, and
/// what a callback has left behind: KeyboardInterrupt after Ctrl-C, for example.
template <class Work>
auto unlocked(Work&& work) {
  auto result = [&] {
    const pybind11::gil_scoped_release release;
    return work();
  }();
  if (PyErr_Occurred()) throw pybind11::error_already_set();
  return result;
}

/// False after Ctrl-C. Python only notes the signal, and must be asked for it now and then.
inline bool not_interrupted() {
  const pybind11::gil_scoped_acquire acquire;
  return PyErr_CheckSignals() == 0;
}

/// A function of Python that C++ owns. Copies may be made and destroyed in any thread, with the interpreter lock or
/// without; it is called with the lock.
class Callback {
 public:
  explicit Callback(pybind11::function f)
      : function_(new pybind11::function(std::move(f)), [](const pybind11::function* held) {
          const pybind11::gil_scoped_acquire acquire;
          delete held;
        }) {}
  template <class... Arguments>
  pybind11::object operator()(Arguments&&... arguments) const {
    return (*function_)(std::forward<Arguments>(arguments)...);
  }

 private:
  std::shared_ptr<const pybind11::function> function_;
};

}  // namespace saltus::python
