#include "bench/engine/distribution.h"

#include <algorithm>
#include <cmath>

namespace kamino::bench {

Zipfian::Zipfian(uint64_t n, double theta) : n_(n), theta_(theta) {
  low_ = Integral(1.5) - 1;
  high_ = Integral(static_cast<double>(n) + 0.5);
  accept_ = 2 - IntegralInverse(Integral(2.5) - Density(2));
}

double Zipfian::Integral(double x) const {
  return std::expm1((1 - theta_) * std::log(x)) / (1 - theta_);
}

double Zipfian::IntegralInverse(double y) const {
  const double t = std::max(y * (1 - theta_), -1.0);
  return std::exp(std::log1p(t) / (1 - theta_));
}

double Zipfian::Density(double x) const {
  return std::exp(-theta_ * std::log(x));
}

uint64_t Zipfian::Next(Random& random) const {
  // Inverting the integral of a hat over the probabilities gives a rank that is
  // nearly always right; the rest is drawn again.
  const double most = static_cast<double>(n_);
  for (;;) {
    const double y = high_ + random.Fraction() * (low_ - high_);
    const double x = IntegralInverse(y);
    const double rank = std::min(std::max(std::floor(x + 0.5), 1.0), most);
    if (rank - x <= accept_ || y >= Integral(rank + 0.5) - Density(rank)) {
      return static_cast<uint64_t>(rank) - 1;
    }
  }
}

uint64_t FnvHash(uint64_t value) {
  uint64_t hash = 0xcbf29ce484222325ull;
  for (int i = 0; i < 8; ++i) {
    hash ^= value & 0xff;
    hash *= 0x100000001b3ull;
    value >>= 8;
  }
  return hash;
}

}  // namespace kamino::bench
