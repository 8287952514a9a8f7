// numpy arrays and the containers of C++.
#pragma once

#include <pybind11/numpy.h>

#include <span>
#include <vector>

namespace saltus::python {

/// Arguments of these types take anything that numpy makes a contiguous array of that type.
template <class T>
using ArrayOf = pybind11::array_t<T, pybind11::array::c_style | pybind11::array::forcecast>;
using Numbers = ArrayOf<double>;

/// The numbers of an array, for as long as it lives.
template <class T>
std::span<const T> view(const ArrayOf<T>& array) {
  return {array.data(), static_cast<std::size_t>(array.size())};
}

/// A list, a tuple or an array of numbers. Throws TypeError for other things.
inline std::vector<double> list_of(const pybind11::handle& numbers) {
  const Numbers array = pybind11::cast<Numbers>(numbers);
  const auto found = view(array);
  return {found.begin(), found.end()};
}

/// A new array with these numbers.
inline pybind11::array_t<double> array_of(std::span<const double> numbers) {
  return pybind11::array_t<double>(static_cast<pybind11::ssize_t>(numbers.size()), numbers.data());
}

}  // namespace saltus::python
