#include "tests/faults/fault.h"

#include <atomic>
#include <string>

namespace kamino::faults {
namespace {

std::string& Planted() {
  static auto* const planted = new std::string;
  return *planted;
}

std::atomic<bool> met{false};

}  // namespace

bool FaultPlanted(absl::string_view name) {
  if (Planted() != name) return false;
  met.store(true, std::memory_order_relaxed);
  return true;
}

void PlantFault(absl::string_view name) {
  Planted() = std::string(name);
  met.store(false);
}

bool PlantedFaultWasMet() { return met.load(); }

}  // namespace kamino::faults
