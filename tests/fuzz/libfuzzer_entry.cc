// A target as libFuzzer calls it; KAMINO_FUZZ_TARGET says which.
#include <cstring>

#include "glog/logging.h"
#include "tests/fuzz/targets.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max);

namespace {

const kamino::fuzz::Target& TheTarget() {
  static const auto* const target = [] {
    FLAGS_minloglevel = google::GLOG_FATAL;
    for (const auto& each : kamino::fuzz::AllTargets()) {
      if (each.name == KAMINO_FUZZ_TARGET) {
        return new kamino::fuzz::Target(each);
      }
    }
    LOG(FATAL) << "no target " << KAMINO_FUZZ_TARGET;
  }();
  return *target;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  TheTarget().run({reinterpret_cast<const char*>(data), size});
  return 0;
}

// Half of the time its own mutations, which know nothing of the format.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size,
                                          size_t max, unsigned int seed) {
  if (seed % 2 == 0) return LLVMFuzzerMutate(data, size, max);
  const std::string mutated = TheTarget().mutate(
      std::string(reinterpret_cast<const char*>(data), size), seed, max);
  std::memcpy(data, mutated.data(), mutated.size());
  return mutated.size();
}
