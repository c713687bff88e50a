#include "tests/engine/crash/rig.h"

namespace kamino::engine::crash {
namespace {

std::vector<Scheme>& Registered() {
  static auto* const schemes = new std::vector<Scheme>;
  return *schemes;
}

}  // namespace

LinkedRigs::LinkedRigs(const std::vector<Scheme>& schemes) {
  for (const Scheme& scheme : schemes) Registered().push_back(scheme);
}

const std::vector<Scheme>& Schemes() { return Registered(); }

}  // namespace kamino::engine::crash
