// SPDX-License-Identifier: Apache-2.0
// Fourier transforms of as many signals as a vector has lanes, side by side, so
// that no instruction mixes lanes. Radix 4, in place; forward leaves the
// frequencies digit-reversed and inverse takes them so: products do not care.
// No standard templates in here (see update_body.h).
#pragma once

#include <cstdint>

#include "lockstep/kernels/vector_body.h"

namespace lockstep {
namespace {

constexpr std::int64_t kLargestTransform = 1024;

template <class V>
struct Complex {
  typename V::Type re, im;
};

template <class V>
inline Complex<V> times(Complex<V> a, const float* w) {
  return {a.re * w[0] - a.im * w[1], a.re * w[1] + a.im * w[0]};
}

template <class V>
inline Complex<V> times_conjugate(Complex<V> a, const float* w) {
  return {a.re * w[0] + a.im * w[1], a.im * w[0] - a.re * w[1]};
}

template <class V>
inline Complex<V> plus(Complex<V> a, Complex<V> b) {
  return {a.re + b.re, a.im + b.im};
}

template <class V>
inline Complex<V> minus(Complex<V> a, Complex<V> b) {
  return {a.re - b.re, a.im - b.im};
}

// a times the imaginary unit.
template <class V>
inline Complex<V> turned(Complex<V> a) {
  return {-a.im, a.re};
}

// Twiddles: for each length size, size/4, …, 4 and each j < length/4 the powers
// 1, 2 and 3 of exp(-2 pi i j / length), six floats. Quarter after quarter, so
// that the smaller transforms stay in the first cache.
template <class V>
void transform(Complex<V>* z, std::int64_t size, const float* twiddles) {
  const std::int64_t q = size / 4;
  const float* w = twiddles;
  for (std::int64_t j = 0; j < q; ++j, w += 6) {
    const Complex<V> even = plus<V>(z[j], z[j + 2 * q]);
    const Complex<V> odd = minus<V>(z[j], z[j + 2 * q]);
    const Complex<V> sum = plus<V>(z[j + q], z[j + 3 * q]);
    const Complex<V> side = turned<V>(minus<V>(z[j + q], z[j + 3 * q]));
    z[j] = plus<V>(even, sum);
    z[j + q] = times<V>(minus<V>(odd, side), w);
    z[j + 2 * q] = times<V>(minus<V>(even, sum), w + 2);
    z[j + 3 * q] = times<V>(plus<V>(odd, side), w + 4);
  }
  if (q == 1) return;
  for (int quarter = 0; quarter < 4; ++quarter)
    transform<V>(z + quarter * q, q, w);
}

// Undoes transform(), but for a factor of `size`.
template <class V>
void transform_back(Complex<V>* z, std::int64_t size, const float* twiddles) {
  const std::int64_t q = size / 4;
  if (q > 1)
    for (int quarter = 0; quarter < 4; ++quarter)
      transform_back<V>(z + quarter * q, q, twiddles + 6 * q);
  const float* w = twiddles;
  for (std::int64_t j = 0; j < q; ++j, w += 6) {
    const Complex<V> a = z[j];
    const Complex<V> b = times_conjugate<V>(z[j + q], w);
    const Complex<V> c = times_conjugate<V>(z[j + 2 * q], w + 2);
    const Complex<V> d = times_conjugate<V>(z[j + 3 * q], w + 4);
    const Complex<V> even = plus<V>(a, c), odd = minus<V>(a, c);
    const Complex<V> sum = plus<V>(b, d), side = turned<V>(minus<V>(b, d));
    z[j] = plus<V>(even, sum);
    z[j + q] = plus<V>(odd, side);
    z[j + 2 * q] = minus<V>(even, sum);
    z[j + 3 * q] = minus<V>(odd, side);
  }
}

}  // namespace
}  // namespace lockstep
