// numpy arrays and the containers of C++.
#pragma once

#include <pybind11/numpy.h>
#include <saltus/linalg/matrix.hpp>

#include <complex>
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

inline pybind11::array_t<std::complex<double>> array_of(std::span<const std::complex<double>> numbers) {
  return pybind11::array_t<std::complex<double>>(static_cast<pybind11::ssize_t>(numbers.size()), numbers.data());
}
/// A new array with two dimensions.
inline pybind11::array_t<double> array_of(const Matrix& matrix) {
  pybind11::array_t<double> array({matrix.rows(), matrix.columns()});
  auto values = array.mutable_unchecked<2>();
  for (int i = 0; i < matrix.rows(); ++i)
    for (int j = 0; j < matrix.columns(); ++j) values(i, j) = matrix(i, j);
  return array;
}

}  // namespace saltus::python
