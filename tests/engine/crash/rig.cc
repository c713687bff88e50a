#include "tests/engine/crash/rig.h"

namespace kamino::engine::crash {
namespace {

std::vector<Scheme>& Registered() {
  static auto* const schemes = new std::vector<Scheme>;
  return *schemes;
}

}  // namespace

LinkedRigs::LinkedRigs(const std::vector<Scheme>& schemes, bool first) {
  // Static initialisation has no order across files.
  std::vector<Scheme>& all = Registered();
  all.insert(first ? all.begin() : all.end(), schemes.begin(), schemes.end());
}

const std::vector<Scheme>& Schemes() { return Registered(); }

}  // namespace kamino::engine::crash
