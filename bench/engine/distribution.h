// Random numbers as the workloads' standards want them distributed.
//
// Every generator is one thread's and gives the same numbers for the same seed.
#ifndef KAMINO_BENCH_ENGINE_DISTRIBUTION_H_
#define KAMINO_BENCH_ENGINE_DISTRIBUTION_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace kamino::bench {

// SplitMix64: an addition and two multiplications to a number, so that drawing
// does not blur what is measured.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t Next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }

  // [0, n), n not 0.
  uint64_t Below(uint64_t n) {
    return static_cast<uint64_t>((static_cast<unsigned __int128>(Next()) * n) >>
                                 64);
  }

  // [low, high].
  uint64_t Between(uint64_t low, uint64_t high) {
    return low + Below(high - low + 1);
  }

  // [0, 1).
  double Fraction() { return static_cast<double>(Next() >> 11) * 0x1p-53; }

 private:
  uint64_t state_;
};

// The same order for the same seed and number.
template <typename T>
void Shuffle(uint64_t seed, std::vector<T>* values) {
  Random random(seed);
  for (size_t left = values->size(); left > 1; --left) {
    std::swap((*values)[left - 1], (*values)[random.Below(left)]);
  }
}

inline constexpr double kYcsbTheta = 0.99;

// Rank i of [0, n) with a probability in proportion to 1 / (i + 1)^theta.
// Exactly so, by rejection-inversion (Hoermann and Derflinger, 1996), where
// YCSB's own generator (Gray et al., 1994) is exact for ranks 0 and 1 only. It
// keeps no sum over all ranks, so a new n costs nothing.
class Zipfian {
 public:
  // theta in (0, 1).
  Zipfian(uint64_t n, double theta);

  uint64_t n() const { return n_; }
  uint64_t Next(Random& random) const;

 private:
  double Integral(double x) const;  // of x^-theta, up to a constant
  double IntegralInverse(double y) const;
  double Density(double x) const;

  uint64_t n_;
  double theta_;
  double low_;
  double high_;
  double accept_;
};

// The 64-bit FNV-1a of the number's eight bytes, lowest first, as YCSB has it.
uint64_t FnvHash(uint64_t value);

// As Zipfian, with the popular ones spread over [0, n) instead of in front.
inline uint64_t Scrambled(const Zipfian& zipfian, Random& random) {
  return FnvHash(zipfian.Next(random)) % zipfian.n();
}

// The newest of `count` things (the largest number) is the most popular.
// `zipfian` may be of fewer; there are then some that are never drawn.
inline uint64_t Latest(const Zipfian& zipfian, uint64_t count, Random& random) {
  return count - 1 - zipfian.Next(random);
}

}  // namespace kamino::bench

#endif  // KAMINO_BENCH_ENGINE_DISTRIBUTION_H_
